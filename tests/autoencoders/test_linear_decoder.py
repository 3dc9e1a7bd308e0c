"""The linear decoder by its properties: its subspace, what is lossless, sizes, padding, batches, further slots."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from geogae.autoencoders.axes import LEAST
from geogae.autoencoders.linear_decoder import BLOCK, NOISE, LinearDecoder, Parts

D = 3
SLOTS = 8


def clouds(sizes, seed=0, scale=1.5):
    random = np.random.default_rng(seed)
    return [(scale * random.normal(size=(n, D))).astype(np.float32) for n in sizes]


def padded(clouds, fill=0.0, width=None):
    balls = np.full((len(clouds), width or max(map(len, clouds)), D), fill, dtype=np.float32)
    for row, cloud in zip(balls, clouds, strict=True):
        row[: len(cloud)] = cloud
    return torch.from_numpy(balls), torch.tensor([len(cloud) for cloud in clouds])


def fitted(training, latent_dim, slots=SLOTS, random_share=0.0, descriptors=None, **how):
    model = LinearDecoder(D, slots=slots, latent_dim=latent_dim, **how)
    model.fit(training, random_share, descriptors)
    return model


def encode(model, slots, sizes, noise=None, coefficients=None, descriptors=None):
    if coefficients is None:
        coefficients = torch.zeros(len(sizes), model.latent_dim - 1 - model.count - model.descriptor_dim)
    if descriptors is None:
        descriptors = torch.zeros(len(sizes), model.descriptor_dim)
    components = model.components(slots - model.expected(descriptors, slots.shape[1]), sizes, noise)
    return model.assembled(Parts(descriptors, sizes, components, coefficients))


def decode(model, z, limit=SLOTS):
    return model.decode(z, limit)[0]


def errors(model, given):
    """How far each cloud is from what comes back of it, at its worst; sizes must be right."""
    balls, sizes = padded(given)
    decoded, found, asked = model.decode(encode(model, balls, sizes), model.slots)
    assert found.equal(sizes) and asked.equal(sizes)
    return [float((back[:n] - true[:n]).abs().max()) for back, true, n in zip(decoded, balls, sizes, strict=True)]


@pytest.fixture(scope="module")
def model():
    """Too small for its largest clouds: 11 components for 24 numbers."""
    return fitted(clouds(np.random.default_rng(1).integers(1, SLOTS + 1, 60)), 12)


# -- principal components ---


@pytest.mark.parametrize("count", [5, 40])
def test_equal_sizes_are_sklearns_pca(count):
    """With 40 clouds of 24 numbers from the larger of the Gram matrices, with 5 from the smaller."""
    training, latent_dim = clouds([SLOTS] * count), 4
    model, theirs = fitted(training, latent_dim), PCA(latent_dim - 1).fit(np.reshape(training, (count, -1)))
    ours = model.axes.double().numpy()
    assert model.mean.numpy() == pytest.approx(theirs.mean_, abs=1e-6)
    assert ours.T @ ours == pytest.approx(theirs.components_.T @ theirs.components_, abs=1e-5)  # the projection
    assert model.deviations.numpy() ** 2 == pytest.approx(theirs.explained_variance_ * (count - 1) / count, rel=1e-5)

    other = clouds([SLOTS] * 7, seed=1)
    balls, sizes = padded(other)
    z = encode(model, balls, sizes)
    rows = np.reshape(other, (7, -1))
    expected = theirs.inverse_transform(theirs.transform(rows))
    assert decode(model, z).flatten(1).numpy() == pytest.approx(expected, abs=1e-4)
    assert np.abs(z[:, 1:].numpy()) == pytest.approx(np.abs(theirs.transform(rows)), abs=1e-4)


# -- what comes back ---


@settings(max_examples=30)
@given(
    st.lists(st.integers(1, SLOTS), min_size=1, max_size=12),
    st.lists(st.integers(1, SLOTS), min_size=1, max_size=6),
    st.sampled_from([1e-3, 1.0, 9.0]),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_lossless_where_every_slot_has_its_numbers(training, sizes, scale, alike, seed):
    """However few, small or equal the training clouds are, and however unlike them a cloud is."""
    known = clouds(training, seed, scale)
    model = fitted(known[:1] * len(known) if alike else known, SLOTS * D + 1)
    assert model.axes @ model.axes.T == pytest.approx(torch.eye(SLOTS * D), abs=1e-5)
    other = clouds(sizes, seed + 1)
    farthest = max(np.abs(cloud).max() for cloud in (*known, *other))
    assert max(errors(model, other)) <= 3 * SLOTS * D * farthest * (NOISE / LEAST) ** 2


def test_lossless_where_the_numbers_of_a_cloud_fit(model):
    assert max(errors(model, clouds([1, 2, 3, 3, 2, 1], seed=9))) < 1e-3  # at most 9 of 11
    assert min(errors(model, clouds([6, 7, 8], seed=9))) > 0.1


def test_clouds_like_the_training_ones_come_back_from_fewer_numbers():
    shapes = np.random.default_rng(0).normal(size=(4, SLOTS, D))
    weights = np.random.default_rng(1).normal(size=(50, 4))
    like = np.einsum("wk,ksd->wsd", weights, shapes).astype(np.float32)
    assert max(errors(fitted(list(like[:40]), 5), list(like[40:]))) < 1e-3


def test_training_clouds_come_back_though_m_has_no_room_for_others():
    training = clouds([8, 7, 3, 8, 5], seed=3)
    model = fitted(training, 6)
    assert max(errors(model, training)) < 1e-2
    assert min(errors(model, clouds([8, 7, 5], seed=4))) > 0.5


@pytest.mark.parametrize("training", [clouds([5]), clouds([5]) * 4, clouds([1])], ids=["one", "alike", "one node"])
@pytest.mark.parametrize("latent_dim", [2, 3, 12, 40])
def test_clouds_without_variance(training, latent_dim):
    model = fitted(training, latent_dim)
    assert max(errors(model, training)) < 1e-5
    rank = min(latent_dim - 1, SLOTS * D)
    assert model.axes[:rank] @ model.axes[:rank].T == pytest.approx(torch.eye(rank), abs=1e-6)
    assert not model.axes[rank:].any() and model.deviations[rank:].eq(1).all()
    assert model.deviations[:rank].tolist() == pytest.approx([LEAST] * rank)
    assert not encode(model, *padded(clouds([8, 2])))[:, 1 + rank :].any()


def test_the_smallest_z_is_a_size_and_one_component():
    training = [np.outer(np.arange(1, 4), direction).astype(np.float32) for direction in np.eye(3) * 2]
    model = fitted(training, 2)
    balls, sizes = padded(training)
    z = encode(model, balls, sizes)
    assert z.shape == (3, 2) and z[:, 0].tolist() == [3, 3, 3] and len(set(z[:, 1].tolist())) == 3


# -- sizes ---


@pytest.mark.parametrize("latent_dim", [2, 12, 40])
def test_every_size_is_in_z(latent_dim):
    model = fitted(clouds([8, 3, 1, 5]), latent_dim)
    balls, sizes = padded(clouds(range(1, SLOTS + 1), seed=5))
    z = encode(model, balls, sizes)
    assert z[:, 0].tolist() == list(range(1, SLOTS + 1))
    decoded, found, asked = model.decode(z, SLOTS)
    assert found.equal(sizes) and asked.equal(sizes)
    present = torch.arange(SLOTS) < sizes[:, None]
    assert decoded[~present].eq(0).all() and decoded[present].ne(0).any(-1).all()


def test_sizes_between_below_and_beyond(model):
    z = torch.zeros(7, 12)
    z[:, 0] = torch.tensor([2.4, 2.6, -3.0, 0.2, 8.4, 9.0, 1e30])
    decoded, sizes, asked = model.decode(z, SLOTS)
    assert sizes.tolist() == [2, 3, 1, 1, 8, 8, 8]
    assert (asked > sizes).tolist() == [False] * 5 + [True] * 2
    shorter, sizes, asked = model.decode(z, 2)
    assert sizes.tolist() == [2, 2, 1, 1, 2, 2, 2] and (asked > sizes).int().tolist() == [0, 1, 0, 0, 1, 1, 1]
    assert torch.equal(shorter[0], decoded[0, :2])


def test_nothing_to_decode(model):
    assert model.decode(torch.zeros(0, 12), SLOTS)[1].tolist() == []


# -- batches ---


def test_batched_is_single(model):
    some = clouds([3, 8, 1, 8, 5, 2, 3, 7], seed=7)
    balls, sizes = padded(some)
    z = encode(model, balls, sizes)
    alone = torch.cat([encode(model, *padded([cloud])) for cloud in some])
    assert z.numpy() == pytest.approx(alone.numpy(), abs=1e-5)
    order = torch.tensor([4, 0, 7, 1, 2, 6, 5, 3])
    assert encode(model, balls[order], sizes[order]).numpy() == pytest.approx(z[order].numpy(), abs=1e-5)
    for row, n, own in zip(z, sizes, decode(model, z), strict=True):
        assert decode(model, row[None])[0].numpy() == pytest.approx(own[:n].numpy(), abs=1e-5)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 3 * BLOCK), min_size=2, max_size=8), st.integers(0, 2**16), st.integers(2, 60))
def test_the_graphs_beside_it_change_no_bit_of_a_z(sizes, seed, latent_dim):
    random = np.random.default_rng(seed)
    model = LinearDecoder(2, slots=3 * BLOCK, latent_dim=latent_dim)
    model.fit([random.normal(size=(n, 2)).astype(np.float32) for n in (3 * BLOCK, *sizes)])
    slots = torch.from_numpy(random.normal(size=(len(sizes), max(sizes), 2)).astype(np.float32))
    z = encode(model, slots, torch.tensor(sizes))
    for row, n in enumerate(sizes):
        assert torch.equal(encode(model, slots[row : row + 1, :n], torch.tensor([n]))[0], z[row])


@pytest.mark.parametrize("fill", [7.0, 1e30, float("nan"), float("inf")])
def test_padding_is_not_read(model, fill):
    some = clouds([3, 8, 1, 5], seed=7)
    assert torch.equal(encode(model, *padded(some, fill)), encode(model, *padded(some)))
    assert torch.equal(encode(model, *padded(some[2:], fill, width=SLOTS)), encode(model, *padded(some[2:])))


# -- each number met to its own deviation ---


def regression(model, nodes, noise):
    """The likeliest components of one graph's nodes (n, d), by least squares in float64 as in a textbook."""
    there = np.isfinite(noise.ravel())
    loadings = (model.axes.double() * model.deviations.double()[:, None]).numpy()[:, : nodes.size][:, there]
    offset = (nodes.ravel() - model.mean.double().numpy()[: nodes.size])[there]
    unit = noise.ravel()[there]
    system = np.concatenate([(loadings / unit).T, np.eye(len(loadings))])
    components = np.linalg.lstsq(system, np.append(offset / unit, np.zeros(len(loadings))), rcond=None)[0]
    return components * model.deviations.double().numpy()


@pytest.mark.parametrize("latent_dim", [5, 12, 40])
def test_numbers_that_are_met_alike_give_the_same_z_however_they_are_read(latent_dim):
    model = fitted(clouds([8, 3, 5, 8, 7, 2, 8, 4] * 5), latent_dim)
    balls, sizes = padded(clouds(range(1, SLOTS + 1), seed=5))
    alike = torch.full_like(balls, NOISE)
    z, own = encode(model, balls, sizes), encode(model, balls, sizes, alike)
    assert own.numpy() == pytest.approx(z.numpy(), abs=1e-4)
    assert len({tuple(row) for row in z.round(decimals=2).tolist()}) == SLOTS
    far = torch.where(torch.arange(SLOTS)[:, None] < sizes[:, None, None], balls, torch.nan)
    assert torch.equal(encode(model, far, sizes, alike), own)  # beyond its size, nothing of a graph is read


@settings(max_examples=40)
@given(st.integers(1, SLOTS), st.integers(2, 30), st.integers(0, 2**16), st.sampled_from([0.0, 0.4, 1.0]))
def test_the_likeliest_components_are_those_of_a_regression(n, latent_dim, seed, absent):
    """In either form, as n·d numbers are fewer or more than the components."""
    random = np.random.default_rng(seed)
    model = fitted(clouds(random.integers(1, SLOTS + 1, 20), seed), latent_dim)
    [nodes] = clouds([n], seed + 1)
    noise = (10.0 ** random.uniform(-3, 1, (n, D))).astype(np.float32)
    noise[random.random((n, D)) < absent] = np.inf
    z = encode(model, torch.from_numpy(nodes)[None], torch.tensor([n]), torch.from_numpy(noise)[None])
    expected = regression(model, nodes.astype(float), noise.astype(float))
    assert z[0, 1:].numpy() == pytest.approx(expected, abs=1e-3)


def test_both_forms_agree(model):
    """A number that is met to a huge deviation says nothing, but makes the system larger than z."""
    [nodes] = clouds([SLOTS], seed=3)
    noise = np.full((SLOTS, D), 1e6, np.float32)
    noise[:3] = NOISE
    few = np.where(noise < 1, noise, np.inf).astype(np.float32)
    assert np.isfinite(few).sum() < model.count < np.isfinite(noise).sum()
    both = torch.from_numpy(np.stack([noise, few]))
    z = encode(model, torch.from_numpy(np.stack([nodes] * 2)), torch.tensor([SLOTS] * 2), both)
    assert z[0].numpy() == pytest.approx(z[1].numpy(), abs=1e-4) and z[0, 1:].abs().max() > 0.1


@pytest.mark.parametrize("latent_dim", [5, 40])
def test_where_there_is_nothing_to_be_met_nothing_is_read(latent_dim):
    model = fitted(clouds([8, 3, 5, 8, 7, 2, 8, 4] * 5), latent_dim)
    balls, sizes = padded(clouds([8, 5], seed=5))
    noise = torch.full_like(balls, NOISE)
    noise[:, 1::2] = noise[:, 0, 1:] = torch.inf
    z = encode(model, balls, sizes, noise)
    other = balls.masked_fill(noise.isinf(), torch.nan)
    assert torch.equal(encode(model, other, sizes, noise), z)
    assert not torch.equal(encode(model, balls + 1, sizes, noise), z)
    nothing = encode(model, balls, sizes, torch.full_like(balls, torch.inf))
    assert not nothing[:, 1:].any() and nothing[:, 0].tolist() == [8, 5]


def test_what_is_met_closely_comes_back_before_the_rest(model):
    """24 numbers do not fit 11 components; those with the smaller deviations do."""
    balls, sizes = padded(clouds([SLOTS] * 4, seed=6))
    noise = torch.full_like(balls, 10.0)
    noise[:, ::3] = NOISE  # 9 numbers
    off = (decode(model, encode(model, balls, sizes, noise)) - balls).abs()
    assert off[:, ::3].max() < 1e-2 and off[:, 1::3].mean() > 0.3


# -- graph coefficients ---


def test_graph_coefficients_come_back_and_the_rest_is_as_without_them():
    random = np.random.default_rng(0)
    training = clouds([8, 3, 5, 8, 7, 2, 8, 4] * 5)
    model, plain = fitted(training, 15, coefficients=3), fitted(training, 12)
    slots, sizes = padded(clouds([8, 6, 1], seed=3))
    own = torch.from_numpy(random.normal(-9, 99, (3, 3)).astype(np.float32))
    z = encode(model, slots, sizes, coefficients=own)
    assert z.shape == (3, 15) and torch.equal(z[:, :12], encode(plain, slots, sizes))
    parts = model.parts(z)
    assert torch.equal(parts.coefficients, own) and torch.equal(parts.sizes, sizes.float())
    assert torch.equal(model.assembled(parts), z)
    assert torch.equal(decode(model, z), decode(plain, z[:, :12]))


# -- descriptors ---


@pytest.fixture(scope="module")
def described():
    """Clouds of which half the variance follows from two numbers, and a decoder for them."""
    random = np.random.default_rng(0)
    numbers = random.normal(size=(80, 2)).astype(np.float32)
    shapes = random.normal(size=(2, SLOTS, D))
    training = [(np.tensordot(own, shapes, 1) + random.normal(size=(SLOTS, D))).astype(np.float32) for own in numbers]
    return fitted(training, 30, descriptors=numbers, descriptor_dim=2), training, torch.from_numpy(numbers)


def test_what_follows_from_the_descriptor_is_not_in_the_code(described):
    model, training, numbers = described
    plain = fitted(training, 28)
    slots, sizes = padded(training)
    z = encode(model, slots, sizes, descriptors=numbers)
    assert torch.equal(z[:, :2], numbers) and decode(model, z).numpy() == pytest.approx(slots.numpy(), abs=1e-2)
    parts = model.parts(z)
    assert parts.sizes.round().tolist() == [SLOTS] * 80 and torch.equal(parts.descriptors, numbers)
    assert parts.components.var() < 0.7 * plain.parts(encode(plain, slots, sizes)).components.var()
    assert z[:, 2:].var(0).sum() < 0.1 * z[:, :2].var(0).sum()  # distances are the descriptor's


def test_a_descriptor_changes_no_bit_of_the_graphs_beside_it(described):
    model, training, numbers = described
    some = [own[: 1 + at % SLOTS] for at, own in enumerate(training[:20])]
    slots, sizes = padded(some)
    z = encode(model, slots, sizes, descriptors=numbers[:20])
    for at, own in enumerate(some):
        assert torch.equal(encode(model, *padded([own]), descriptors=numbers[at : at + 1])[0], z[at])
    large = padded([*some, *clouds([2 * SLOTS], seed=8)])
    assert torch.equal(encode(model, *large, descriptors=numbers[:21])[:20], z)


# -- further slots ---


def test_further_slots_change_no_bit_of_what_fits(model):
    """However many are asked for, and whoever is in the batch."""
    some = clouds([3, 8, 5], seed=7)
    z = encode(model, *padded(some))
    assert torch.equal(encode(model, *padded(some, width=4 * SLOTS)), z)
    larger = padded([*some, *clouds([3 * SLOTS], seed=8)])
    assert torch.equal(encode(model, *larger)[:3], z)
    together = decode(model, encode(model, *larger), 4 * SLOTS)
    assert together.shape[1] == 3 * SLOTS and not together[:3, SLOTS:].any()
    assert torch.equal(decode(model, z, 4 * SLOTS), decode(model, z))
    for n in (SLOTS + 1, 3 * SLOTS):
        mean, axes = model.extended(n)
        assert len(mean) == axes.shape[1] == n * D
        assert torch.equal(mean[: SLOTS * D], model.mean) and torch.equal(axes[:, : SLOTS * D], model.axes)
        assert torch.equal(model.extended(4 * SLOTS)[1][:, : n * D], axes)  # a slot depends on its number alone


def test_further_slots_are_as_wide_as_those_of_training():
    training = [cloud * (1, 5, 0.1) + (9, 0, -3) for cloud in clouds([SLOTS] * 200)]
    model = fitted(training, 20)
    mean, axes = model.extended(200)
    mean = mean[SLOTS * D :].unflatten(0, (-1, D))
    assert mean[0].tolist() == pytest.approx([9, 0, -3], abs=0.2) and (mean == mean[0]).all()
    loadings = (axes * model.deviations[:, None])[:, SLOTS * D :].unflatten(1, (-1, D))  # (k, slots, d)
    spread = loadings.square().sum(0).mean(0).sqrt()
    assert spread.tolist() == pytest.approx([1.5, 7.5, 0.15], rel=0.1)


def test_a_larger_cloud_comes_back_where_z_has_numbers_enough():
    """40 numbers of z and 8 slots of training; 12 slots of 36 numbers are within reach, 30 slots are not."""
    model = fitted(clouds([SLOTS] * 60), 42)
    for n, whole in ((12, True), (30, False)):
        slots, sizes = padded(clouds([n], seed=3))
        off = float((decode(model, encode(model, slots, sizes), 30) - slots).abs().max())
        assert (off < 0.05) == whole
        assert model.decode(encode(model, slots, sizes), 30)[1].tolist() == [n]


# -- random axes ---


def test_a_share_of_the_axes_is_random():
    training = clouds([8, 3, 5, 8, 7, 2, 8, 4] * 5)
    plain, model = (fitted(training, 16, coefficients=5, random_share=share) for share in (0.0, 0.3))
    assert model.axes.shape == (10, SLOTS * D) and torch.equal(model.axes[:7], plain.axes[:7])
    assert not torch.equal(model.axes[7:], plain.axes[7:])
    assert model.axes @ model.axes.T == pytest.approx(torch.eye(10), abs=1e-5)
    assert (model.deviations >= LEAST).all()


def test_a_number_where_training_had_none_comes_back_along_random_axes():
    """In training graphs it is not 0 in the first slots alone, later in any."""
    random = np.random.default_rng(0)
    training = [np.column_stack([cloud[:, :2], np.zeros(len(cloud))]) for cloud in clouds([8] * 60, seed=1)]
    for cloud in training:
        cloud[random.integers(0, 3), 2] = 1
    off = []
    for share in (0.0, 0.5):
        model = fitted(training, 20, random_share=share)
        [given] = clouds([8], seed=2)
        given[:, 2] = 0
        given[6, 2] = 1
        noise = np.full((8, 3), np.inf, np.float32)
        noise[:, 2] = NOISE
        slots, sizes = torch.from_numpy(given)[None], torch.tensor([8])
        back = decode(model, encode(model, slots, sizes, torch.from_numpy(noise)[None]))
        off.append(float((back - slots)[..., 2].abs().max()))
    assert off[0] > 0.5 and off[1] < 0.05


# -- repetition ---


def test_fitting_again_gives_the_same():
    training = clouds([8, 2, 5, 8, 8, 1])
    one, two = (fitted(training, latent_dim=20).state_dict() for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    model = fitted(training, latent_dim=20)
    assert not list(model.parameters())
    model.fit(clouds([3], seed=5))
    again = fitted(clouds([3], seed=5), latent_dim=20)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in model.state_dict().items())
