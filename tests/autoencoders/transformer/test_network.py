"""The paper's autoencoder by its properties: masks, causality, padding, batching, caching, passes, sizes."""

import numpy as np
import pytest
import torch

from geogae.autoencoders.base import check_latent
from geogae.autoencoders.transformer import losses
from geogae.autoencoders.transformer.bundles import bundle_up
from geogae.autoencoders.transformer.network import SequentialNetwork
from geogae.errors import GeoGAEError

D = 3


def small(seed=0, **how):
    torch.manual_seed(seed)
    shape = {"token_dim": 16, "latent_tokens": 3, "encoder_layers": 2, "encoder_hidden": 32, "encoder_heads": 4}
    shape |= {"decoder_layers": 2, "decoder_hidden": 32, "decoder_heads": 2}
    return SequentialNetwork(D, **(shape | how)).eval()


def clouds(sizes, seed=0):
    """Random clouds padded with zeros, (B, n, d)."""
    balls = 1.5 * torch.randn(len(sizes), max(sizes), D, generator=torch.Generator().manual_seed(seed))
    present = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
    return balls.where(present[..., None], 0), torch.tensor(sizes)


def never_stop(model):
    """Sizes cannot be reached: the stop logits of every slot are far below 0."""
    with torch.no_grad():
        model.decoder.head.mlp[-1].bias.view(-1, D + 1)[:, -1] = -100
    return model


BY_HEART = clouds([1, 9, 2, 5, 7, 3, 8, 6], seed=1)


def recalled(model):
    """Whether every graph comes back from z alone."""
    balls, sizes = BY_HEART
    decoded = model.decode(model.encode(balls, sizes), max_nodes=20)
    return decoded.sizes.equal(sizes) and all(
        (losses.margins(decoded.balls[g, :n]) > 0).equal(losses.margins(balls[g, :n]) > 0) for g, n in enumerate(sizes)
    )


@pytest.fixture(scope="module", params=[1, 4], ids="bundle={}".format)
def trained(request):
    """A model that was given up to 600 steps to learn eight clouds by heart."""
    model = small(token_dim=32, encoder_hidden=64, decoder_hidden=64, bundle=request.param)
    assert not recalled(model)
    balls, sizes = BY_HEART
    adjacency = losses.margins(balls) > 0
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(600):
        out = model(balls, sizes)
        loss = losses.total_loss(out.balls, out.stop_logits, balls, adjacency, sizes)["total"]
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 50 == 49 and recalled(model):
            break
    return model


# -- bundles -------------------------------------------------------------------------------------------------------


def test_bundles_repeat_the_last_node():
    nodes = torch.tensor([[[1.0], [2], [3], [4], [5]], [[6], [7], [0], [0], [0]]])
    assert bundle_up(nodes, torch.tensor([5, 2]), 3).tolist() == [[[1, 2, 3], [4, 5, 5]], [[6, 7, 7], [7, 7, 7]]]
    assert torch.equal(bundle_up(nodes[:1], torch.tensor([5]), 1), nodes[:1])


def test_a_bundle_holds_whole_nodes_in_a_row():
    nodes = torch.arange(12.0).view(1, 4, 3)
    assert torch.equal(bundle_up(nodes, torch.tensor([4]), 2), torch.arange(12.0).view(1, 2, 6))


# -- the encoder ---------------------------------------------------------------------------------------------------


def test_cls_tokens_do_not_see_each_other():
    model = small(encoder_layers=1)
    balls, sizes = clouds([5, 3])
    before = model.encoder(balls, sizes)
    with torch.no_grad():
        model.encoder.cls[1] *= -1
    after = model.encoder(balls, sizes)
    assert torch.equal(before[:, [0, 2]], after[:, [0, 2]])
    assert not torch.allclose(before[:, 1], after[:, 1], atol=1e-3)


def test_bundles_do_see_the_cls_tokens():
    """Through them, from the second layer on, a CLS token reaches the others."""
    model = small(encoder_layers=2)
    balls, sizes = clouds([5, 3])
    before = model.encoder(balls, sizes)
    with torch.no_grad():
        model.encoder.cls[1] *= -1
    assert ((model.encoder(balls, sizes) - before)[:, [0, 2]].abs().amax((1, 2)) > 1e-4).all()


def test_z_sees_every_node_and_their_order():
    model = small()
    balls, sizes = clouds([5])
    z = model.encode(balls, sizes)
    for node in range(5):
        moved = balls.clone()
        moved[0, node, 0] += 0.5
        assert (model.encode(moved, sizes) - z).abs().max() > 1e-3
    assert (model.encode(balls.flip(1), sizes) - z).abs().max() > 1e-3


@pytest.mark.parametrize("bundle", [1, 4])
def test_padding_changes_nothing(bundle):
    model = small(bundle=bundle)
    balls, sizes = clouds([6, 1, 3])
    padded = torch.full((3, 13, D), 77.0)
    padded[:, :6] = balls.where((torch.arange(6) < sizes[:, None])[..., None], -55.0)
    assert torch.allclose(model.encode(padded, sizes), model.encode(balls, sizes), atol=1e-5)
    wide, narrow = model(padded, sizes), model(balls, sizes)
    for graph, n in enumerate(sizes):
        assert torch.allclose(wide.balls[:, graph, :n], narrow.balls[:, graph, :n], atol=1e-4)
        assert torch.allclose(wide.stop_logits[:, graph, :n], narrow.stop_logits[:, graph, :n], atol=1e-4)


def test_batched_is_single(trained):
    balls, sizes = BY_HEART
    z = trained.encode(balls, sizes)
    decoded = trained.decode(z, max_nodes=30)
    assert decoded.sizes.unique().tolist() == [1, 2, 3, 5, 6, 7, 8, 9]  # graphs leave the batch at different steps
    for graph, n in enumerate(sizes):
        alone = trained.encode(balls[graph, None, :n], sizes[graph, None])
        assert torch.allclose(alone[0], z[graph], atol=1e-4)
        single = trained.decode(z[graph, None], max_nodes=30)
        assert single.sizes.tolist() == [n]
        assert torch.allclose(single.balls[0], decoded.balls[graph, :n], atol=1e-4)
        assert torch.allclose(single.stop_probability[0], decoded.stop_probability[graph, :n], atol=1e-4)
        assert not decoded.balls[graph, n:].any() and not decoded.stop_probability[graph, n:].any()


# -- the decoder ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bundle", [1, 2])
def test_the_decoder_is_causal(bundle):
    """A bundle that changes is seen by the tokens after it, not by its own token or those before."""
    model = small(bundle=bundle)
    bundles = bundle_up(*clouds([8]), bundle)  # (1, T, b·d)
    memory = model.decoder.read(torch.randn(1, 3, 16))
    balls, logits = model.decoder(bundles, memory)
    changed = bundles.clone()
    changed[0, 2] += 1.0
    new_balls, new_logits = model.decoder(changed, memory)
    edge = 3 * bundle
    assert torch.equal(balls[:, :edge], new_balls[:, :edge]) and torch.equal(logits[:, :edge], new_logits[:, :edge])
    assert ((balls - new_balls)[0, edge:].abs().amax(-1) > 1e-6).all()


def test_z_is_a_set_of_tokens():
    """The memory has no positions: its tokens can change places."""
    model = small()
    tokens = torch.randn(2, 3, 16, generator=torch.Generator().manual_seed(1))
    bundles = bundle_up(*clouds([6, 6]), 1)
    balls, _ = model.decoder(bundles, model.decoder.read(tokens))
    swapped, _ = model.decoder(bundles, model.decoder.read(tokens[:, [2, 0, 1]]))
    assert torch.allclose(balls, swapped, atol=1e-5)
    other, _ = model.decoder(bundles, model.decoder.read(tokens + 1))
    assert not torch.allclose(balls, other, atol=1e-2)


@pytest.mark.parametrize("absolute_positions", [False, True])
@pytest.mark.parametrize("bundle", [1, 3])
def test_cached_decoding_is_decoding_without_a_cache(bundle, absolute_positions):
    model = never_stop(small(bundle=bundle, absolute_positions=absolute_positions))
    z = torch.randn(4, 48, generator=torch.Generator().manual_seed(2))
    memory = model.decoder.read(z.unflatten(1, (3, 16)))
    bundles = torch.zeros(4, 1, bundle * D)
    for _ in range(5):
        balls, logits = model.decoder(bundles, memory)  # the whole sequence again for each next bundle
        so_far = balls.unflatten(1, (-1, bundle)).flatten(2)
        bundles = torch.cat((so_far, so_far[:, -1:]), dim=1)
    cached = model.decode(z, max_nodes=5 * bundle)
    assert torch.allclose(cached.balls, balls, atol=1e-5)
    assert torch.allclose(cached.stop_probability, logits.sigmoid(), atol=1e-5)


def test_numbers_beside_the_balls_are_no_geometry():
    """Counts of folded nodes change L_emb alone."""
    balls, sizes = clouds([4, 6])
    adjacency = losses.margins(balls[..., : D - 1]) > 0
    stop_logits = torch.zeros(3, *balls.shape[:2])
    parts = []
    for count in (0.0, 5.0):
        predicted = torch.cat((balls[..., :-1], balls[..., -1:] + count), dim=-1).expand(3, *balls.shape)
        parts.append(losses.total_loss(predicted, stop_logits, balls, adjacency, sizes, dim=D - 1))
    assert torch.equal(parts[0]["geo"], parts[1]["geo"]) and parts[0]["emb"] < parts[1]["emb"]


@pytest.mark.parametrize("bundle", [1, 3])
def test_enough_stacked_passes_are_free_running(bundle):
    """Pass k has its first k tokens from its own outputs alone; from T passes on nothing of the truth is left."""
    tokens = 4
    model = never_stop(small(bundle=bundle, passes=tokens))
    balls, sizes = clouds([tokens * bundle] * 2)
    stacked = model(balls, sizes).balls[-1]
    free = model.decode(model.encode(balls, sizes), max_nodes=tokens * bundle).balls
    assert torch.allclose(stacked, free, atol=1e-5)
    assert not torch.allclose(model(balls, sizes).balls[-2], free, atol=1e-5)  # one pass fewer does not do


@pytest.mark.parametrize("bundle", [1, 2, 4])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8])
def test_the_graph_ends_with_the_first_node_that_says_stop(monkeypatch, bundle, size):
    """Also in the middle of a bundle, whatever the slots behind it say."""
    model, slot = small(bundle=bundle), 0

    def head(tokens):
        nonlocal slot
        slots = torch.arange(slot + 1, slot + bundle + 1)
        slot += bundle
        balls = slots[None, :, None].expand(len(tokens), bundle, D).float()
        return balls, torch.where(slots == size, 5.0, -5.0).expand(len(tokens), bundle)

    monkeypatch.setattr(model.decoder.head, "forward", head)
    decoded = model.decode(torch.zeros(2, 48), max_nodes=20)
    assert decoded.sizes.tolist() == [size, size]
    assert decoded.balls[1, :, 0].tolist() == list(range(1, size + 1))
    assert decoded.truncated.tolist() == [False, False]
    assert decoded.stop_probability[0, -1] > 0.99


@pytest.mark.parametrize("bundle", [1, 4])
@pytest.mark.parametrize("limit", [1, 6])
def test_a_limit_that_is_hit_is_reported(bundle, limit):
    model = never_stop(small(bundle=bundle))
    decoded = model.decode(torch.randn(3, 48), max_nodes=limit)
    assert decoded.sizes.tolist() == [limit] * 3 and decoded.balls.shape == (3, limit, D)
    assert decoded.truncated.tolist() == [True] * 3


def test_no_graphs_are_no_graphs():
    decoded = small().decode(torch.zeros(0, 48), max_nodes=5)
    assert decoded.balls.shape == (0, 0, D) and decoded.sizes.shape == decoded.truncated.shape == (0,)


def test_only_graphs_that_hit_the_limit_are_reported(trained):
    z, sizes = trained.encode(*BY_HEART), BY_HEART[1]
    decoded = trained.decode(z, max_nodes=6)
    assert decoded.sizes.tolist() == sizes.clamp(max=6).tolist()
    assert decoded.truncated.tolist() == (sizes > 6).tolist()


# -- the whole -----------------------------------------------------------------------------------------------------


def test_the_first_pass_sees_the_truth_and_the_next_what_it_gave():
    model = small(passes=3)
    balls, sizes = clouds([5, 5])
    passes = model(balls, sizes)
    memory = model.decoder.read(passes.z.unflatten(1, (3, 16)))
    fed = balls
    for k in range(3):
        fed, logits = model.decoder(fed, memory)
        assert torch.allclose(passes.balls[k], fed, atol=1e-5)
        assert torch.allclose(passes.stop_logits[k], logits, atol=1e-5)


def test_gradients_run_through_the_fed_back_outputs():
    model = small(passes=2)
    balls, sizes = clouds([4])
    passes = model(balls, sizes)
    (whole,) = torch.autograd.grad(passes.balls[1, 0, 3].sum(), model.decoder.start, retain_graph=True)
    fed = passes.balls[0].detach()  # the same values without their history
    memory = model.decoder.read(passes.z.unflatten(1, (3, 16)))
    (cut,) = torch.autograd.grad(model.decoder(fed, memory)[0][0, 3].sum(), model.decoder.start)
    assert not torch.allclose(whole, cut, atol=1e-6)


@pytest.mark.parametrize("variational", [False, True])
@pytest.mark.parametrize("bundle", [1, 3])
def test_gradients_reach_every_parameter(bundle, variational):
    model = small(bundle=bundle, variational=variational).train()
    balls, sizes = clouds([7, 4, 1])
    out = model(balls, sizes, torch.Generator().manual_seed(0))
    adjacency = losses.margins(balls) > 0
    parts = losses.total_loss(
        out.balls, out.stop_logits, balls, adjacency, sizes, mu=out.mu, log_var=out.log_var, kl_weight=1.0
    )
    parts["total"].backward()
    still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().max() > 0]
    assert still == []


def test_the_variational_latent_is_drawn_in_training_and_its_mean_otherwise():
    model = small(variational=True)
    balls, sizes = clouds([5, 2])
    quiet = model(balls, sizes)
    assert torch.equal(quiet.z, quiet.mu) and torch.equal(model.encode(balls, sizes), quiet.mu)
    model.train()
    draws = [model(balls, sizes, torch.Generator().manual_seed(seed)).z for seed in (0, 0, 1)]
    assert torch.equal(draws[0], draws[1]) and not torch.allclose(draws[0], draws[2], atol=1e-2)
    assert torch.equal(model.encode(balls, sizes), quiet.mu)
    noise = torch.randn(2, 48, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(draws[2], quiet.mu + (0.5 * quiet.log_var).exp() * noise, atol=1e-6)


def test_without_a_variational_latent_training_mode_changes_nothing():
    model = small()
    batch = clouds([5, 2])
    quiet = model(*batch)
    loud = model.train()(*batch)
    assert torch.equal(quiet.balls, loud.balls) and quiet.mu is None and quiet.log_var is None


def test_bfloat16_autocast_stays_close_and_keeps_balls_in_float32():
    model = small()
    balls, sizes = clouds([6, 3])
    exact = model(balls, sizes)
    with torch.autocast("cpu", torch.bfloat16):
        rough = model(balls, sizes)
        decoded = model.decode(model.encode(balls, sizes), max_nodes=5)
    assert rough.balls.dtype == rough.stop_logits.dtype == decoded.balls.dtype == torch.float32
    assert 0 < (rough.balls[:, 0] - exact.balls[:, 0]).abs().max() < 0.05
    rough.balls.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_it_learns_a_few_clouds_by_heart(trained):
    """Sizes 1 to 9, also those that are no multiple of the bundle."""
    assert recalled(trained)


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"passes": 0}, "passes=0 .* at least 1"),
        ({"bundle": 0}, "bundle=0 .* at least 1"),
        ({"latent_tokens": 0}, "latent_tokens=0 .* at least 1"),
        ({"decoder_layers": 0}, "decoder_layers=0 .* at least 1"),
        ({"encoder_heads": 3}, r"heads=3 .*token_dim=16 .*try one of \[1, 2, 4, 8\]"),
    ],
)
def test_bad_shapes_are_named(how, words):
    with pytest.raises(GeoGAEError, match=words):
        small(**how)


def test_a_ball_needs_a_centre():
    with pytest.raises(GeoGAEError, match=r"d=1 .* at least 2"):
        SequentialNetwork(1)


def test_bad_latents_are_named():
    model = small()
    with pytest.raises(GeoGAEError, match=r"\(2, 47\).*48 numbers"):
        check_latent(np.zeros((2, 47), np.float32), 48)
    with pytest.raises(GeoGAEError, match="1 values that are not finite"):
        check_latent(np.array([[0, np.nan]], np.float32), 2)
    with pytest.raises(GeoGAEError, match=r"max_nodes=0 .* at least 1"):
        model.decode(torch.zeros(1, 48), max_nodes=0)
