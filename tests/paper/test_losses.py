"""Each equation of Appendix B.4 against values computed by hand (here: with plain floats, term by term)."""

from math import exp, hypot, log, log1p

import pytest
import torch

from geogae.autoencoders.transformer import losses
from geogae.autoencoders.transformer.features import Features


def softplus(x):
    return log1p(exp(x))


def sigmoid(x):
    return 1 / (1 + exp(-x))


def focal(p_hat, weight, gamma=2.0):
    return -weight * (1 - p_hat) ** gamma * log(p_hat)


def huber(x, delta):
    return 0.5 * x * x if abs(x) <= delta else delta * (abs(x) - 0.5 * delta)


# -- the margin (def. m^(k)) ---------------------------------------------------------------------------------------


def test_margin_is_scaled_radii_less_distance():
    balls = torch.tensor([[0.0, 0.0, 0.0], [3.0, 4.0, 1.0]])
    expected = 0.75 * (softplus(0) + softplus(1)) - 5.0  # 0.75 · (0.6931 + 1.3133) - 5 = -3.4952
    assert losses.margins(balls)[0, 1].item() == pytest.approx(expected, abs=1e-5)
    assert losses.margins(balls)[0, 1].item() == pytest.approx(-3.4952, abs=1e-4)
    assert losses.margins(balls)[1, 0] == losses.margins(balls)[0, 1]


def test_margin_is_accurate_far_from_the_origin_and_for_many_nodes():
    """The matrix-product form of the distance would be off by 0.1 here."""
    balls = torch.zeros(30, 3)
    balls[:, 0] = 1000 + torch.arange(30) / 8
    dist = 2 * 0.75 * softplus(0) - losses.margins(balls)
    assert torch.allclose(dist[0], torch.arange(30) / 8, atol=1e-5)


def test_margin_has_a_finite_gradient_where_centres_coincide():
    balls = torch.ones(2, 3, requires_grad=True)
    losses.margins(balls).sum().backward()
    assert balls.grad is not None and balls.grad.isfinite().all()
    assert balls.grad[:, 2].tolist() == pytest.approx([4 * 0.75 * sigmoid(1)] * 2)  # in 4 of the sum's radii


# -- focal ---------------------------------------------------------------------------------------------------------


def test_focal_of_both_classes():
    loss = losses.focal(torch.tensor([0.0, 2.0]), torch.tensor([True, False]), weight=0.75, gamma=2.0)
    assert loss.tolist() == pytest.approx([0.75 * 0.25 * log(2), 0.25 * sigmoid(2) ** 2 * -log(sigmoid(-2))])


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_focal_is_finite_at_extreme_logits(gamma):
    logits = torch.tensor([-1e4, -100.0, 0.0, 100.0, 1e4], requires_grad=True)
    loss = losses.focal(logits, torch.tensor(True), 0.75, gamma)
    loss.sum().backward()
    assert loss.tolist()[0] == pytest.approx(0.75 * 1e4)  # -log p̂ of a confident mistake grows with the logit
    assert loss.tolist()[-1] == 0
    assert logits.grad is not None and logits.grad.isfinite().all()


# -- L_geo, L_emb, L_stop, L_KL ------------------------------------------------------------------------------------


@pytest.fixture
def batch():
    """K=2 passes, a graph of three nodes (a path) and one of two (no edge), d=3, padded with a large number."""
    truth = torch.tensor([[[0.0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 0, -1], [0, 3, -1], [99, 99, 9]]])
    predicted = torch.stack((truth, truth + torch.tensor([0.1, -2.0, 0.5])))
    predicted[1, 0, 0] = torch.tensor([0.0, 0.5, 1.0])
    adjacency = torch.zeros(2, 3, 3, dtype=torch.bool)
    adjacency[0, [0, 1, 1, 2], [1, 0, 2, 1]] = True
    return predicted, truth, adjacency, torch.tensor([3, 2])


def by_hand_geo(balls, edges, temperature=0.4, alpha=0.75):
    n, total = len(balls), 0.0
    for i in range(n):
        for j in range(i + 1, n):
            (x, y, r), (u, v, s) = balls[i], balls[j]
            p = sigmoid((0.75 * (softplus(r) + softplus(s)) - hypot(x - u, y - v)) / temperature)
            total += focal(p, alpha) if (i, j) in edges else focal(1 - p, 1 - alpha)
    return total / (n * (n - 1) / 2)


def test_loss_geo(batch):
    predicted, _, adjacency, sizes = batch
    expected = [
        sum(by_hand_geo(predicted[k, g, :n].tolist(), edges) for k in (0, 1)) / 2
        for g, n, edges in ((0, 3, {(0, 1), (1, 2)}), (1, 2, set()))
    ]
    assert losses.loss_geo(predicted, adjacency, sizes, alpha=0.75).tolist() == pytest.approx(expected, rel=1e-5)


def test_loss_geo_of_one_node_is_zero():
    balls = torch.zeros(1, 1, 1, 3, requires_grad=True)
    loss = losses.loss_geo(balls, torch.zeros(1, 1, 1, dtype=torch.bool), torch.tensor([1]))
    loss.sum().backward()
    assert loss.tolist() == [0.0]
    assert balls.grad is not None and balls.grad.isfinite().all()


def test_loss_emb(batch):
    predicted, truth, _, sizes = batch
    shifted = huber(0.1, 1) + huber(-2.0, 1) + huber(0.5, 1)  # 0.005 + 1.5 + 0.125
    first = huber(0.5, 1) + huber(1.0, 1)  # of the node moved by hand: 0.125 + 0.5
    expected = [(first + 2 * shifted) / 3 / 2, 2 * shifted / 2 / 2]  # the first pass is the truth: 0
    assert losses.loss_emb(predicted, truth, sizes).tolist() == pytest.approx(expected)
    assert expected == pytest.approx([(0.625 + 3.26) / 6, 0.815])
    delta = 0.25
    shifted = sum(huber(x, delta) for x in (0.1, -2.0, 0.5))
    first = huber(0.5, delta) + huber(1.0, delta)
    expected = [(first + 2 * shifted) / 6, shifted / 2]
    assert losses.loss_emb(predicted, truth, sizes, delta=delta).tolist() == pytest.approx(expected)


def test_loss_stop_counts_the_last_node_as_the_stop():
    logits = torch.tensor([[[-1.0, 0.5, 2.0], [0.0, 1.0, 7.0]], [[0.0, 0.0, 0.0], [3.0, -3.0, 7.0]]])  # (2, 2, 3)
    first = focal(sigmoid(1), 0.25) + focal(sigmoid(-0.5), 0.25) + focal(sigmoid(2), 0.75)
    flat = (2 * 0.25 + 0.75) * 0.25 * log(2)
    second = focal(sigmoid(0), 0.25) + focal(sigmoid(1), 0.75)
    wrong = focal(sigmoid(-3), 0.25) + focal(sigmoid(-3), 0.75)
    expected = [(first / 3 + flat / 3) / 2, (second / 2 + wrong / 2) / 2]
    assert losses.loss_stop(logits, torch.tensor([3, 2]), eta=0.75).tolist() == pytest.approx(expected)


def test_loss_stop_of_one_node():
    loss = losses.loss_stop(torch.tensor([[[0.0]]]), torch.tensor([1]), eta=0.9, gamma=0.0)
    assert loss.item() == pytest.approx(0.9 * log(2))


def test_loss_kl():
    mu, log_var = torch.tensor([[0.0, 0.0], [1.0, 2.0]]), torch.tensor([[0.0, 0.0], [0.0, log(4)]])
    expected = [0.0, 0.5 * (1 + 1 - 1 - 0) + 0.5 * (4 + 4 - 1 - log(4))]
    assert losses.loss_kl(mu, log_var).tolist() == pytest.approx(expected)
    q = torch.distributions.Normal(mu, (0.5 * log_var).exp())
    assert torch.allclose(
        losses.loss_kl(mu, log_var), torch.distributions.kl_divergence(q, torch.distributions.Normal(0, 1)).sum(-1)
    )


# -- L_nfeat, L_efeat ----------------------------------------------------------------------------------------------


def cross_entropy(logits, chosen):
    return log(sum(exp(x) for x in logits)) - logits[chosen]


@pytest.fixture
def features():
    """K=2 passes, columns of 2 and 3 categories, then two numbers; a graph of two nodes and a padded one of one."""
    truth = torch.tensor(
        [[[1.0, 0, 0, 0, 1, 0.5, -2], [0, 1, 1, 0, 0, 0, 0]], [[0, 1, 0, 1, 0, 1, 1], [9, 9, 9, 9, 9, 9, 9]]]
    )
    predicted = torch.tensor([0.3, -0.2, 1.0, 0.0, -1.0, 0.1, 0.7]).expand(2, 2, 2, 7).clone()
    predicted[1, :, :, 5:] = truth[:, :, 5:]  # the second pass has the numbers right
    return predicted, truth, torch.tensor([2, 1])


def test_loss_nfeat_is_the_mean_over_nodes_and_the_sum_over_passes(features):
    predicted, truth, sizes = features
    two, three = [0.3, -0.2], [1.0, 0.0, -1.0]
    first = cross_entropy(two, 0) + cross_entropy(three, 2)
    second = cross_entropy(two, 1) + cross_entropy(three, 0)
    other = cross_entropy(two, 1) + cross_entropy(three, 1)
    numbers = [huber(0.1 - 0.5, 1) + huber(0.7 + 2, 1), huber(0.1, 1) + huber(0.7, 1)]  # 0.08 + 2.2, 0.005 + 0.245
    assert numbers == pytest.approx([2.28, 0.25])
    expected = [(2 * (first + second) + sum(numbers)) / 2, 2 * other + huber(0.9, 1) + huber(0.3, 1)]
    assert losses.loss_nfeat(predicted, truth, sizes, [2, 3]).tolist() == pytest.approx(expected)


def test_loss_efeat_is_the_mean_over_the_edges_of_a_graph(features):
    predicted, truth = features[0][0, 0, :1].expand(3, 7), features[1].flatten(0, 1)[:3]
    each = losses.loss_nfeat(predicted[None, :, None], truth[:, None], torch.ones(3), [2, 3]).tolist()  # by one node
    graph = torch.tensor([2, 0, 2])
    expected = [each[1], 0.0, (each[0] + each[2]) / 2]  # the second graph has no edges
    assert losses.loss_efeat(predicted, truth, graph, 3, [2, 3]).tolist() == pytest.approx(expected)


def test_loss_efeat_of_no_edges_is_zero():
    predicted = torch.zeros(0, 4, requires_grad=True)
    loss = losses.loss_efeat(predicted, torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64), 2, [3])
    loss.sum().backward()
    assert loss.tolist() == [0.0, 0.0] and predicted.grad is not None


@pytest.mark.parametrize(("widths", "columns"), [([], [0.5, -3.0]), ([2], [0.5, -3.0]), ([2, 1], [0.5, -3.0, 8.0])])
def test_features_may_be_all_numbers_or_all_categories(widths, columns):
    truth = [1.0, 0.0, 1.0][: len(columns)]
    found = losses.loss_nfeat(
        torch.tensor(columns)[None, None, None], torch.tensor([[truth]]), torch.tensor([1]), widths
    )
    expected = cross_entropy([0.5, -3.0], 0) if widths else huber(0.5, 1) + huber(3.0, 1)  # one category is no choice
    assert found.tolist() == pytest.approx([expected])


# -- β(t), rescaling, L_total --------------------------------------------------------------------------------------


def test_beta_climbs_in_a_straight_line():
    assert [losses.beta(t, target=0.02, epochs=10) for t in (0, 2.5, 10, 50)] == pytest.approx([0, 0.005, 0.02, 0.02])
    assert losses.beta(0, target=0.02, epochs=0) == 0.02


def test_rescaling_brings_each_part_to_the_mean_up_to_the_cap():
    parts = torch.tensor([3.0, 2.9, 0.1], requires_grad=True)  # mean 2
    scaled = losses.rescaled(parts, cap=10.0)
    assert scaled.tolist() == pytest.approx([2.0, 2.0, 1.0])  # the last would need a factor of 20
    scaled.sum().backward()
    assert parts.grad is not None
    assert parts.grad.tolist() == pytest.approx([2 / 3, 2 / 2.9, 10.0])  # factors are constants to the gradient


def test_rescaling_of_zero_is_zero():
    assert losses.rescaled(torch.tensor([0.0, 2.0])).tolist() == pytest.approx([0.0, 1.0])
    assert losses.rescaled(torch.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_total_loss(batch):
    predicted, truth, adjacency, sizes = batch
    logits = torch.tensor([[-3.0, -3, 3], [-3, 3, 0]]).expand(2, 2, 3)
    mu, log_var = torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1)
    emb = losses.loss_emb(predicted, truth, sizes).mean().item()
    geo = losses.loss_geo(predicted, adjacency, sizes).mean().item()
    stop = losses.loss_stop(logits, sizes).mean().item()
    mean = (emb + geo + stop) / 3
    scaled = [x * min(mean / x, 3.0) for x in (emb, geo, stop)]
    assert stop * 3 < mean < geo * 3  # so the cap binds for one part only
    parts = losses.total_loss(
        predicted, logits, truth, adjacency, sizes, mu=mu, log_var=log_var, kl_weight=0.1, rho=5.0, cap=3.0
    )
    assert parts["kl"].item() == pytest.approx((0.5 + 4.5) / 2)
    assert [parts[name].item() for name in ("emb", "geo", "stop")] == pytest.approx([emb, geo, stop])
    assert parts["total"].item() == pytest.approx(scaled[0] + 5 * scaled[1] + scaled[2] + 0.1 * 2.5)


def test_total_loss_is_the_mean_over_graphs_and_ignores_padding(batch):
    """With the rescaling off, a batch costs what its graphs cost one by one, whatever the padding holds."""
    predicted, truth, adjacency, sizes = batch
    logits = torch.randn(2, 2, 3, generator=torch.Generator().manual_seed(0))
    each = ("emb", "geo", "stop")
    whole = losses.total_loss(predicted, logits, truth, adjacency, sizes)
    alone = [
        losses.total_loss(
            predicted[:, g, None, :n],
            logits[:, g, None, :n],
            truth[g, None, :n],
            adjacency[g, None, :n, :n],
            sizes[g, None],
        )
        for g, n in enumerate(sizes.tolist())
    ]
    for name in each:
        assert whole[name].item() == pytest.approx(sum(parts[name].item() for parts in alone) / 2, rel=1e-5)


def test_total_loss_adds_features_that_are_not_rescaled(batch, features):
    predicted, truth, adjacency, sizes = batch
    node, nodes, _ = features
    node, nodes = (torch.cat((part, part[..., :1, :]), dim=-2) for part in (node, nodes))  # to n = 3
    edges = torch.tensor([[0, 0, 1], [0, 1, 2]])
    attributes = Features(nodes, edges, torch.tensor([[1.0, 0, 2], [0, 1, 0]]))
    edge = torch.tensor([[0.0, 0, 2.5], [0, 2, 3]])
    topology = (predicted, torch.zeros(2, 2, 3), truth, adjacency, sizes)
    plain = losses.total_loss(*topology)["total"].item()
    parts = losses.total_loss(
        *topology,
        node_features=node,
        edge_features=edge,
        attributes=attributes,
        node_categories=[2, 3],
        edge_categories=[2],
        feature_weight=0.1,
    )
    nfeat = losses.loss_nfeat(node, nodes, sizes, [2, 3]).mean().item()
    efeat = (log(2) + huber(0.5, 1) + cross_entropy([0, 2], 1) + huber(3, 1)) / 2 / 2  # edges of one, then both graphs
    assert [parts[name].item() for name in ("nfeat", "efeat")] == pytest.approx([nfeat, efeat])
    assert parts["total"].item() == pytest.approx(plain + 0.1 * (nfeat + efeat))


def test_losses_are_float32_under_autocast(batch):
    predicted, truth, adjacency, sizes = batch
    logits = torch.zeros(2, 2, 3)
    expected = losses.total_loss(predicted, logits, truth, adjacency, sizes)
    with torch.autocast("cpu", torch.bfloat16):
        found = losses.total_loss(predicted, logits, truth, adjacency, sizes)
    assert all(found[name] == expected[name] for name in expected)
    assert all(part.dtype == torch.float32 for part in found.values())
