"""Node and edge attributes in the paper's model: who is corrected, by how much, and what comes back."""

from functools import partial

import pytest
import torch

from geogae import Graph, fit_clouds
from geogae.autoencoders.schema import Schema
from geogae.autoencoders.transformer.attention import rope
from geogae.autoencoders.transformer.bundles import bundle_up
from geogae.autoencoders.transformer.encoder import attention_mask
from geogae.autoencoders.transformer.features import EdgeFeatures, NodeFeatures, TokenPairs
from geogae.autoencoders.transformer.objective import sequential_objective
from geogae.autoencoders.transformer.sequences import Sequences
from geogae.errors import GeoGAEError
from geogae.geometry.cloud import graphs_of_balls

from .attributed import EDGE, NODE, D, alone, by_loops, dressed, objective, small

# -- the encoder ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bundle", [1, 3])
def test_training_starts_from_the_encoder_that_knows_no_edges(bundle):
    """All weights that both have are alike, and so is z."""
    balls, sizes, attributes = dressed([6, 3], node=0)
    plain = small(node_features=0, edge_features=0, bundle=bundle)
    edged = small(node_features=0, bundle=bundle)
    weights = edged.state_dict()
    assert all(torch.equal(weights[name], value) for name, value in plain.state_dict().items())
    assert torch.allclose(edged.encode(balls, sizes, attributes), plain.encode(balls, sizes), atol=1e-5)
    assert not torch.allclose(
        small(node_features=0, bundle=bundle, noise=0.3).encode(balls, sizes, attributes),
        plain.encode(balls, sizes),
        atol=1e-2,
    )


@pytest.mark.parametrize("bundle", [1, 2])
def test_the_encoder_is_what_its_layers_are_by_loops(bundle):
    """CLS tokens stand before the bundles, node features beside the balls; each layer has a projection of its own."""
    encoder = small(noise=0.3, bundle=bundle).encoder
    balls, sizes, attributes = dressed([6, 3])
    between = {}
    for (graph, i, j), feature in zip(attributes.edges.tolist(), attributes.edge_features, strict=True):
        for one, other in {(3 + i // bundle, 3 + j // bundle), (3 + j // bundle, 3 + i // bundle)}:
            between.setdefault((graph, one, other), []).append(feature)
    means = [torch.stack(features).mean(0) for features in between.values()]
    pairs = TokenPairs(torch.tensor(list(between)), torch.stack(means))

    x = encoder.embed(bundle_up(torch.cat((balls, attributes.nodes), dim=-1), sizes, bundle))
    x = torch.cat((encoder.cls.expand(2, -1, -1), x), dim=1)
    turn, mask = rope(x.shape[1], 4, x.device), attention_mask(3, x.shape[1] - 3, -(-sizes // bundle))
    *layers, last = encoder.layers
    for layer in layers:
        x = x + layer.attention.out(by_loops(layer.attention, layer.norm_attention(x), turn, mask, pairs))
        x = x + layer.feed_forward(layer.norm_feed_forward(x))
    expected = encoder.norm(last(x, turn, mask)[:, :3])
    assert torch.allclose(encoder(balls, sizes, attributes), expected, atol=1e-5)


def test_every_layer_but_the_last_has_a_projection():
    """The last computes CLS tokens only, which have no edges."""
    names = [name for name in small().state_dict() if "correction.weight" in name]
    assert names == [f"encoder.layers.{layer}.attention.correction.weight" for layer in (0, 1)]


def test_an_edge_changes_the_z_of_its_graph_alone():
    model = small(noise=0.3)
    balls, sizes, attributes = dressed([5, 4])
    z = model.encode(balls, sizes, attributes)
    for edge, graph in enumerate(attributes.edges[:, 0].tolist()):
        features = attributes.edge_features.clone()
        features[edge, 1] += 1.0
        change = model.encode(balls, sizes, attributes._replace(edge_features=features)) - z
        assert change[graph].abs().max() > 1e-4 and change[1 - graph].abs().max() < 1e-6
        kept = torch.arange(len(attributes.edges)) != edge  # nor is it the same without the edge
        without = attributes._replace(edges=attributes.edges[kept], edge_features=attributes.edge_features[kept])
        change = model.encode(balls, sizes, without) - z
        assert change[graph].abs().max() > 1e-4 and change[1 - graph].abs().max() < 1e-6


@pytest.mark.parametrize("bundle", [1, 3])
def test_z_sees_every_node_feature(bundle):
    model = small(bundle=bundle)
    balls, sizes, attributes = dressed([5])
    z = model.encode(balls, sizes, attributes)
    for node in range(5):
        nodes = attributes.nodes.clone()
        nodes[0, node, 2] += 0.5
        assert (model.encode(balls, sizes, attributes._replace(nodes=nodes)) - z).abs().max() > 1e-3


def test_z_depends_neither_on_the_order_of_edges_nor_on_where_they_are_listed():
    model = small(noise=0.3, bundle=2)
    balls, sizes, attributes = dressed([6, 5])
    mixed = torch.randperm(len(attributes.edges), generator=torch.Generator().manual_seed(0))
    other = attributes._replace(edges=attributes.edges[mixed], edge_features=attributes.edge_features[mixed])
    assert torch.allclose(model.encode(balls, sizes, attributes), model.encode(balls, sizes, other), atol=1e-5)


@pytest.mark.parametrize("bundle", [1, 4])
def test_padding_changes_nothing(bundle):
    model = small(noise=0.3, bundle=bundle)
    balls, sizes, attributes = dressed([6, 1, 3])
    present = (torch.arange(6) < sizes[:, None])[..., None]
    wide, nodes = torch.full((3, 13, D), 77.0), torch.full((3, 13, NODE), 77.0)
    wide[:, :6], nodes[:, :6] = balls.where(present, -55.0), attributes.nodes.where(present, -55.0)
    padded = attributes._replace(nodes=nodes)
    assert torch.allclose(model.encode(wide, sizes, padded), model.encode(balls, sizes, attributes), atol=1e-5)
    more, less = model(wide, sizes, None, padded), model(balls, sizes, None, attributes)
    assert torch.allclose(more.edge_features, less.edge_features, atol=1e-4)
    for graph, n in enumerate(sizes):
        assert torch.allclose(more.node_features[:, graph, :n], less.node_features[:, graph, :n], atol=1e-4)


@pytest.mark.parametrize("bundle", [1, 4])
def test_batched_is_single(bundle):
    model = small(noise=0.3, bundle=bundle)
    everything = dressed([6, 1, 3, 5])
    attributes = everything[2]
    z, out = model.encode(*everything), model(everything[0], everything[1], None, attributes)
    for graph, n in enumerate(everything[1]):
        balls, sizes, own = alone(*everything, graph)
        assert torch.allclose(model.encode(balls, sizes, own)[0], z[graph], atol=1e-4)
        single = model(balls, sizes, None, own)
        assert torch.allclose(single.node_features[:, 0], out.node_features[:, graph, :n], atol=1e-4)
        here = attributes.edges[:, 0] == graph
        assert torch.allclose(single.edge_features, out.edge_features[here], atol=1e-4)


# -- the decoder ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bundle", [1, 3])
def test_every_pass_gives_node_features_and_the_last_one_edge_features(bundle):
    model = small(bundle=bundle, passes=3)
    balls, sizes, attributes = dressed([6, 6])
    out = model(balls, sizes, None, attributes)
    memory = model.decoder.read(out.z.unflatten(1, (3, 16)))
    fed = balls
    for k in range(3):
        tokens = model.decoder.tokens(fed.unflatten(1, (-1, bundle)).flatten(2), memory)
        fed, _ = model.decoder.head(tokens)
        assert torch.allclose(out.node_features[k], model.decoder.node_features(tokens), atol=1e-5)
    vectors = model.decoder.edge_features.vectors(tokens)
    assert torch.allclose(out.edge_features, model.edge_features(vectors, attributes.edges), atol=1e-5)


@pytest.mark.parametrize("bundle", [1, 3])
def test_cached_decoding_is_decoding_without_a_cache(bundle):
    """Enough stacked passes are free-running, so their features are those of decoding from z."""
    model = small(bundle=bundle, passes=4, noise=0.3)
    with torch.no_grad():
        model.decoder.head.mlp[-1].bias.view(-1, D + 1)[:, -1] = -100  # never stop
    balls, sizes, attributes = dressed([4 * bundle] * 2)
    out = model(balls, sizes, None, attributes)
    decoded = model.decode(model.encode(balls, sizes, attributes), max_nodes=4 * bundle)
    assert torch.allclose(decoded.node_features, out.node_features[-1], atol=1e-4)
    assert torch.allclose(model.edge_features(decoded.vectors, attributes.edges), out.edge_features, atol=1e-4)


def test_an_edge_has_no_direction_and_is_read_off_sum_and_absolute_difference():
    torch.manual_seed(0)
    head = EdgeFeatures(EDGE, 8, bundle=1)
    vectors = torch.randn(2, 5, 8)
    edges = torch.tensor([[0, 1, 4], [1, 0, 2]])
    found = head(vectors, edges)
    assert torch.equal(found, head(vectors, edges[:, [0, 2, 1]]))
    one, other = vectors[1, 0], vectors[1, 2]
    assert torch.allclose(found[1], head.mlp(torch.cat((one + other, (one - other).abs()))), atol=1e-6)


def test_a_bundle_is_cut_into_its_nodes_in_their_order():
    torch.manual_seed(0)
    nodes, edges = NodeFeatures(NODE, 8, bundle=3), EdgeFeatures(EDGE, 8, bundle=3)
    tokens = torch.randn(2, 4, 8)
    found, vectors = nodes(tokens), edges.vectors(tokens)  # (2, 12, w), (2, 12, 8)
    assert torch.allclose(found[1, 7], nodes.mlp(tokens[1, 2])[NODE : 2 * NODE], atol=1e-6)
    assert torch.allclose(vectors[1, 7], edges.cut(tokens[1, 2])[8:16], atol=1e-6)
    assert torch.equal(EdgeFeatures(EDGE, 8, bundle=1).vectors(tokens), tokens)  # of one node, the token itself


# -- the modes -----------------------------------------------------------------------------------------------------


def test_attributes_can_be_read_without_being_decoded():
    model = small(decodes_features=False)
    balls, sizes, attributes = dressed([5, 3])
    out = model(balls, sizes, None, attributes)
    decoded = model.decode(out.z, max_nodes=4)
    assert out.node_features is out.edge_features is decoded.node_features is decoded.vectors is None
    assert not [name for name in model.state_dict() if "decoder" in name and "features" in name]
    with pytest.raises(GeoGAEError, match="decodes no edge features"):
        model.edge_features(torch.zeros(1, 3, 16), attributes.edges[:1])


@pytest.mark.parametrize(("node", "edge"), [(NODE, EDGE), (NODE, 0), (0, EDGE)])
@pytest.mark.parametrize("bundle", [1, 3])
@pytest.mark.parametrize("decodes", [False, True])
def test_gradients_reach_every_parameter(node, edge, bundle, decodes):
    model = small(node_features=node, edge_features=edge, bundle=bundle, decodes_features=decodes).train()
    objective(model, *dressed([7, 4, 1], node=node, edge=edge)).backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().max() > 0]
    assert still == []


@pytest.mark.parametrize("bundle", [1, 3])
def test_a_batch_without_edges_has_a_gradient_for_every_parameter(bundle):
    """Of edges it is zero, but there: several processes wait for it."""
    model = small(bundle=bundle, noise=0.3).train()
    balls, sizes, attributes = dressed([3, 2], share=0.0)
    assert not len(attributes.edges)
    out = model(balls, sizes, None, attributes)
    (out.balls.mean() + out.stop_logits.mean() + out.node_features.mean() + out.edge_features.sum()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert not model.encoder.layers[0].attention.correction.weight.grad.any()


def test_bfloat16_autocast_stays_close_and_keeps_features_in_float32():
    model = small(noise=0.3)
    balls, sizes, attributes = dressed([6, 3])
    exact = model(balls, sizes, None, attributes)
    with torch.autocast("cpu", torch.bfloat16):
        rough = model(balls, sizes, None, attributes)
        decoded = model.decode(model.encode(balls, sizes, attributes), max_nodes=5)
    assert rough.node_features.dtype == rough.edge_features.dtype == decoded.node_features.dtype == torch.float32
    assert 0 < (rough.node_features[:, 0] - exact.node_features[:, 0]).abs().max() < 0.05
    assert 0 < (rough.edge_features - exact.edge_features).abs().max() < 0.05
    (rough.node_features.sum() + rough.edge_features.sum()).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_attributes_that_the_model_does_not_read_are_named():
    balls, sizes, attributes = dressed([3])
    with pytest.raises(GeoGAEError, match=r"attributes of 0 numbers a node and 0 an edge; this model reads 4 .* and 2"):
        small().encode(balls, sizes)
    with pytest.raises(GeoGAEError, match=r"attributes of 4 numbers a node and 2 an edge; this model reads 0 .* and 2"):
        small(node_features=0).encode(balls, sizes, attributes)
    with pytest.raises(GeoGAEError, match=r"encoder_layers=1 .* at least 2"):
        small(encoder_layers=1)
    with pytest.raises(GeoGAEError, match=r"node_features=-1 .* at least 0"):
        small(node_features=-1)


# -- the whole -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def coloured():
    """One path, coloured in six ways: what sets them apart is in the attributes alone."""
    random = torch.Generator().manual_seed(0)
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    graphs = [
        Graph(
            5,
            edges,
            node_categorical=torch.randint(0, 3, (5, 1), generator=random).numpy(),
            node_continuous=torch.randn(5, 1, generator=random).numpy(),
            edge_categorical=torch.randint(0, 2, (4, 2), generator=random).numpy(),
        )
        for _ in range(6)
    ]
    schema = Schema.of(graphs)
    sequences = Sequences(fit_clouds(graphs, D), schema)
    how = {"kl_weight": 0.0, "kl_epochs": 1.0, "rho": 1.0}
    how |= {
        f"{block.kind}_categories": [len(known) for known in block.categories] for block in (schema.node, schema.edge)
    }
    return schema, sequences[list(range(6))], partial(sequential_objective, **how)


@pytest.mark.parametrize("bundle", [1, 2])
def test_it_learns_attributes_by_heart(coloured, bundle):
    schema, batch, loss = coloured
    balls, sizes, truth = batch.balls, batch.sizes, batch.attributes
    model = small(
        token_dim=32, bundle=bundle, node_features=schema.node.width, edge_features=schema.edge.width, passes=2
    )  # fmt: skip

    def recalled():
        decoded = model.decode(model.encode(balls, sizes, truth), max_nodes=8)
        if not decoded.sizes.equal(sizes):
            return False
        graphs = graphs_of_balls(decoded.balls.numpy(), decoded.sizes.numpy())
        edges = torch.tensor([(g, i, j) for g, graph in enumerate(graphs) for i, j in graph.edges.tolist()])
        order = truth.edges[:, 1:].mul(torch.tensor([10, 1])).sum(1) + 100 * truth.edges[:, 0]
        if not edges.reshape(-1, 3).equal(truth.edges[order.argsort()]):
            return False
        found = schema.edge.read(model.edge_features(decoded.vectors, edges).detach().numpy())
        expected = schema.edge.read(truth.edge_features[order.argsort()].numpy())
        nodes, given = (schema.node.read(part.flatten(0, 1).numpy()) for part in (decoded.node_features, truth.nodes))
        near = abs(nodes.numbers - given.numbers).max() < 0.3
        return (found.codes == expected.codes).all() and (nodes.codes == given.codes).all() and near

    assert not recalled()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(600):
        parts = loss(model, batch, 0.0, torch.Generator(), torch.Tensor.abs)
        optimiser.zero_grad()
        parts["total"].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 50 == 49 and recalled():
            return
    raise AssertionError({name: part.item() for name, part in parts.items()})


def test_the_objective_adds_weighted_feature_losses(coloured):
    schema, batch, loss = coloured
    model = small(node_features=schema.node.width, edge_features=schema.edge.width)
    without, half = (
        loss(model, batch, 0.0, torch.Generator(), torch.Tensor.abs, feature_weight=w) for w in (0.0, 0.5)
    )  # fmt: skip
    assert list(half) == ["total", "emb", "geo", "stop", "nfeat", "efeat"]
    assert (half["total"] - without["total"]).item() == pytest.approx(
        0.5 * (half["nfeat"] + half["efeat"]).item(), rel=1e-4
    )
    quiet = small(node_features=schema.node.width, edge_features=schema.edge.width, decodes_features=False)
    assert list(loss(quiet, batch, 0.0, torch.Generator(), torch.Tensor.abs)) == ["total", "emb", "geo", "stop"]
