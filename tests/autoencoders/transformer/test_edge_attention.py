"""Edge attributes in attention: which pairs of tokens are corrected, and by how much."""

import pytest
import torch

from geogae.autoencoders.transformer.attention import EdgeAttention, EncoderLayer, attend, rope
from geogae.autoencoders.transformer.encoder import attention_mask
from geogae.autoencoders.transformer.features import TokenPairs, token_pairs

from .attributed import EDGE, by_loops, dressed

# -- pairs of tokens -----------------------------------------------------------------------------------------------


def test_an_edge_is_seen_from_both_ends():
    edges, features = torch.tensor([[0, 0, 2], [1, 1, 3]]), torch.tensor([[5.0], [7.0]])
    pairs = token_pairs(edges, features, bundle=1, first=3)
    assert pairs.places.tolist() == [[0, 3, 5], [1, 4, 6], [0, 5, 3], [1, 6, 4]]
    assert pairs.features.tolist() == [[5], [7], [5], [7]]


def test_bundles_see_the_mean_of_the_edges_between_them_and_themselves_once():
    edges = torch.tensor([[0, 0, 1], [0, 0, 2], [0, 1, 3], [0, 2, 5], [1, 0, 2], [1, 4, 5]])
    features = torch.tensor([[1.0], [2.0], [6.0], [8.0], [16.0], [32.0]])
    places, means = token_pairs(edges, features, bundle=2, first=1)
    found = {tuple(place): value for place, (value,) in zip(places.tolist(), means.tolist(), strict=True)}
    assert len(found) == len(places)  # each pair once
    assert found == {
        (0, 1, 1): 1,  # 0-1 is inside the first bundle
        (0, 1, 2): 4, (0, 2, 1): 4,  # 0-2 and 1-3
        (0, 2, 3): 8, (0, 3, 2): 8,
        (1, 1, 2): 16, (1, 2, 1): 16,
        (1, 3, 3): 32,
    }  # fmt: skip


@pytest.mark.parametrize("bundle", [1, 3])
def test_no_edges_are_no_pairs(bundle):
    pairs = token_pairs(torch.zeros(0, 3, dtype=torch.int64), torch.zeros(0, 2), bundle, 3)
    assert pairs.places.shape == (0, 3) and pairs.features.shape == (0, 2)


# -- attention -----------------------------------------------------------------------------------------------------


def scene(seed=0, noise=0.5, heads=2):
    """An attention layer with 2 CLS tokens and bundles of 5 and 3 nodes."""
    torch.manual_seed(seed)
    attention = EdgeAttention(8, heads, EDGE)
    with torch.no_grad():
        attention.correction.weight += noise * torch.randn(16, 8 + EDGE)
        attention.correction.bias += noise * torch.randn(16)
    _, sizes, attributes = dressed([5, 3], seed)
    pairs = token_pairs(attributes.edges, attributes.edge_features, 1, 2)
    return attention, torch.randn(2, 7, 8), rope(7, 8 // heads, torch.device("cpu")), attention_mask(2, 5, sizes), pairs


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_edges_correct_keys_and_values_of_their_pairs(heads):
    attention, x, turn, mask, pairs = scene(heads=heads)
    found, expected = attention(x, turn, mask, pairs), by_loops(attention, x, turn, mask, pairs)
    assert torch.allclose(found, expected, atol=1e-5)
    query, tokens = attention.project(x, turn)
    assert (attend(query, tokens, mask) - expected)[0, 2:].abs().max() > 0.05  # they do matter


def test_bundles_correct_keys_and_values_too():
    """A bundle with edges inside sees itself corrected, once."""
    attention, x, turn, mask, _ = scene()
    edges = torch.tensor([[0, 0, 1], [0, 1, 2], [0, 0, 3], [0, 7, 9], [1, 2, 5]])
    pairs = token_pairs(edges, torch.randn(5, EDGE), bundle=2, first=2)
    assert torch.allclose(attention(x, turn, mask, pairs), by_loops(attention, x, turn, mask, pairs), atol=1e-5)


def test_a_correction_begins_as_none():
    attention, x, turn, mask, pairs = scene(noise=0.0)
    query, tokens = attention.project(x, turn)
    assert torch.allclose(attention(x, turn, mask, pairs), attend(query, tokens, mask), atol=1e-6)


def test_without_edges_there_is_nothing_to_correct():
    attention, x, turn, mask, pairs = scene()
    query, tokens = attention.project(x, turn)
    none = TokenPairs(pairs.places[:0], pairs.features[:0])
    assert torch.allclose(attention(x, turn, mask, none), attend(query, tokens, mask), atol=1e-6)


def test_in_one_layer_an_edge_changes_its_two_ends_alone():
    attention, x, turn, mask, pairs = scene()
    before = attention(x, turn, mask, pairs)
    graph, i, j = pairs.places[0].tolist()
    touched = ((pairs.places == torch.tensor([graph, i, j])) | (pairs.places == torch.tensor([graph, j, i]))).all(1)
    after = attention(x, turn, mask, TokenPairs(pairs.places, pairs.features + 3.0 * touched[:, None]))
    changed = (after - before).abs().amax(-1) > 1e-4
    assert touched.sum() == 2 and changed.nonzero().tolist() == [[graph, i], [graph, j]]


def test_what_an_edge_adds_depends_on_relative_position_only():
    attention, x, _, mask, pairs = scene()
    turn = rope(50, 4, torch.device("cpu"))
    near, far = (attention(x, turn[:, begin : begin + 7], mask, pairs) for begin in (0, 40))
    assert torch.allclose(near, far, atol=1e-5)


def test_a_layer_gives_the_same_rows_whether_or_not_others_are_asked_for():
    attention, x, turn, mask, pairs = scene()
    torch.manual_seed(0)
    layer = EncoderLayer(8, 16, 2, EDGE)
    layer.attention = attention
    assert torch.allclose(layer(x, turn, mask, 2, pairs), layer(x, turn, mask, pairs=pairs)[:, :2], atol=1e-6)
