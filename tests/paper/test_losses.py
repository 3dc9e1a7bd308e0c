"""Each equation of Appendix B.4 against values computed by hand (here: with plain floats, term by term)."""

from math import exp, hypot, log, log1p

import pytest
import torch

from geogae import losses


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


def test_losses_are_float32_under_autocast(batch):
    predicted, truth, adjacency, sizes = batch
    logits = torch.zeros(2, 2, 3)
    expected = losses.total_loss(predicted, logits, truth, adjacency, sizes)
    with torch.autocast("cpu", torch.bfloat16):
        found = losses.total_loss(predicted, logits, truth, adjacency, sizes)
    assert all(found[name] == expected[name] for name in expected)
    assert all(part.dtype == torch.float32 for part in found.values())
