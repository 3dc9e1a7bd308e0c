import pytest
import torch
import torch.nn.functional as F

from geogae.autoencoders.transformer.attention import EncoderLayer, dot_product_attention, head_dim, rope, rotate
from geogae.errors import GeoGAEError


def test_rope_scores_depend_on_relative_position_only():
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 8, generator=generator)
    turn = rope(50, 8, torch.device("cpu"))
    rows, columns = rotate(query.expand(50, 8), turn), rotate(key.expand(50, 8), turn)
    scores = rows @ columns.T  # (50, 50), scores[i, j] = f(i - j)
    assert torch.allclose(scores[1:, 1:], scores[:-1, :-1], atol=1e-5)
    assert (scores[0, 1:] - scores[0, 0]).abs().min() > 1e-3  # and it does depend on it


def test_rope_turns_by_position_times_frequency():
    turn = rope(3, 4, torch.device("cpu"))
    x = rotate(torch.tensor([1.0, 1.0, 0.0, 0.0]).expand(3, 4), turn)[2]  # frequencies 1 and 10000^(-1/2) = 0.01
    angles = torch.tensor([2.0, 0.02])
    assert torch.allclose(x, torch.cat((angles.cos(), angles.sin())), atol=1e-6)


def test_position_zero_is_not_turned():
    x = torch.randn(1, 6, generator=torch.Generator().manual_seed(0))
    assert torch.equal(rotate(x, rope(1, 6, torch.device("cpu"))), x)


@pytest.mark.parametrize("kind", ["all", "causal", "truth values", "numbers"])
@pytest.mark.parametrize("length", [1, 7, 39, 60])  # plain products below 40 tokens in float32
def test_attention_is_that_of_torch(length, kind):
    generator = torch.Generator().manual_seed(length)
    query, key, value = torch.randn(3, 2, 4, length, 8, generator=generator)
    allowed = torch.rand(2, 1, length, length, generator=generator) > 0.5
    allowed |= torch.eye(length, dtype=torch.bool)
    mask = {"truth values": allowed, "numbers": torch.where(allowed, 0.5, -3.0)}.get(kind)
    found = dot_product_attention(query, key, value, mask, causal=kind == "causal")
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=kind == "causal")
    assert torch.allclose(found, expected, atol=1e-6)
    halves = [part.bfloat16() for part in (query, key, value)]
    low = None if mask is None or mask.dtype == torch.bool else mask.bfloat16()
    coarse = dot_product_attention(*halves, mask if low is None else low, causal=kind == "causal")
    assert coarse.dtype == torch.bfloat16 and (coarse.float() - expected).abs().max() < 0.05


def test_an_encoder_layer_gives_the_same_rows_whether_or_not_others_are_asked_for():
    torch.manual_seed(0)
    layer = EncoderLayer(8, 16, 2)
    x, turn = torch.randn(2, 5, 8), rope(5, 4, torch.device("cpu"))
    mask = torch.rand(2, 1, 5, 5) > 0.3
    mask |= torch.eye(5, dtype=torch.bool)
    assert torch.allclose(layer(x, turn, mask, rows=2), layer(x, turn, mask)[:, :2], atol=1e-6)


@pytest.mark.parametrize(("token_dim", "heads"), [(64, 5), (6, 2), (12, 4), (64, 0), (64, 128)])
def test_heads_must_cut_tokens_into_even_widths(token_dim, heads):
    with pytest.raises(GeoGAEError, match=rf"heads={heads} .*token_dim={token_dim} .*try one of \[1, "):
        head_dim(token_dim, heads)


def test_an_odd_token_dim_has_no_remedy_in_heads():
    with pytest.raises(GeoGAEError, match="choose an even token_dim"):
        head_dim(7, 1)


@pytest.mark.parametrize(("token_dim", "heads", "width"), [(64, 8, 8), (64, 1, 64), (96, 4, 24), (144, 6, 24)])
def test_heads_of_the_paper(token_dim, heads, width):
    assert head_dim(token_dim, heads) == width
