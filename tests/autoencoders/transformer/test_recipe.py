"""What the paper's model is trained and read with beyond the plain recipe: edits, likeliest stops, refined z."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from geogae import GeoGAE, GeoGAEError, Graph, datasets, metrics
from geogae.autoencoders.transformer.decoder import Decoder
from geogae.autoencoders.transformer.network import SequentialNetwork
from geogae.training import stream

TINY: dict[str, Any] = {"dim": 4, "token_dim": 16, "latent_dim": 32, "encoder_hidden": 32, "encoder_layers": 2}
TINY |= {"encoder_heads": 2, "decoder_hidden": 32, "decoder_layers": 1, "passes": 2, "batch_size": 8, "validations": 1}


class Scripted(nn.Module):
    """A head that gives the stop probabilities of a script, bundle by bundle."""

    def __init__(self, probabilities: list[float], bundle: int) -> None:
        super().__init__()
        self.logits = [math.log(p / (1 - p)) for p in probabilities]
        self.bundle, self.at = bundle, 0

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        now = self.logits[self.at : self.at + self.bundle]
        self.at += self.bundle
        count = len(tokens)
        return torch.zeros(count, self.bundle, 3), torch.tensor(now).expand(count, -1)


def size(probabilities: list[float], *, likeliest: bool, bundle: int = 1) -> tuple[int, bool]:
    decoder = Decoder(3, token_dim=8, bundle=bundle, layers=1, hidden=8, heads=1, likeliest_stop=likeliest)
    decoder.head = Scripted(probabilities, bundle)  # type: ignore[assignment]
    decoded = decoder.generate(torch.zeros(1, 2, 8), len(probabilities))
    return int(decoded.sizes[0]), bool(decoded.truncated[0])


@pytest.mark.parametrize("bundle", [1, 2])
def test_where_a_graph_ends(bundle: int) -> None:
    """P(n) = 0.10, 0.36, 0.32, … for h = 0.1, 0.4, 0.6; the first above one half is the third."""
    hesitant = [0.1, 0.4, 0.6, 0.9, 0.9, 0.9]
    assert size(hesitant, likeliest=False, bundle=bundle) == (3, False)
    assert size(hesitant, likeliest=True, bundle=bundle) == (2, False)
    sure = [0.01, 0.01, 0.01, 0.98, 0.9, 0.9]
    assert size(sure, likeliest=False, bundle=bundle) == size(sure, likeliest=True, bundle=bundle) == (4, False)
    never = [0.01, 0.02, 0.01, 0.01]
    assert size(never, likeliest=False, bundle=bundle) == (4, True)
    assert size(never, likeliest=True, bundle=bundle) == (2, True)  # cut, and the likeliest of what there is


def test_the_plain_recipe_has_no_new_weights() -> None:
    shape = {"token_dim": 16, "latent_tokens": 2, "encoder_heads": 2, "encoder_hidden": 32, "decoder_hidden": 32}
    plain, normed = SequentialNetwork(4, **shape), SequentialNetwork(4, **shape, final_norm=True)
    assert normed.state_dict().keys() - plain.state_dict().keys() == {"decoder.norm.weight", "decoder.norm.bias"}
    defaults = GeoGAE("sequential").get_params()
    assert (defaults["edits"], defaults["stop_rule"], defaults["final_norm"], defaults["refine_steps"]) == (
        0, "first", False, 0,
    )  # fmt: skip


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "EPOCH", 24)
    monkeypatch.setattr(stream, "ProcessPoolExecutor", lambda *_, **__: None)  # in this process


@pytest.mark.usefixtures("short")
def test_a_model_trained_with_edits_saves_and_refines(tmp_path: Any) -> None:
    train, validation, test = datasets.split(datasets.load("MUTAG")[:40], seed=0)
    model = GeoGAE("sequential", **TINY, edits=4, edit_kinds="leaves+edges+paths+parts", epochs=4, final_norm=True)
    model.fit(train, validation=validation)
    assert model.history_[-1]["step"] == 4 * 3
    z = model.encode(test)
    model.save(tmp_path / "model")
    again = GeoGAE.load(tmp_path / "model")
    assert np.array_equal(again.encode(test), z)
    before = model.evaluate(test)["f1"]
    again.autoencoder_.refine_steps = 10
    assert again.evaluate(test)["f1"] >= before


@pytest.mark.usefixtures("short")
def test_attributes_are_edited_along() -> None:
    graphs = datasets.load("MUTAG")[:20]
    model = GeoGAE("sequential", **TINY, edits=4, epochs=1, attributes="decoded").fit(graphs, validation=graphs[:2])
    back = model.decode(model.encode(graphs[:2]))
    assert all(graph.node_categorical is not None for graph in back)
    assert metrics.edge_f1(back[0], back[0]) == 1


COMPLETE = Graph(5, [(i, j) for j in range(5) for i in range(j)])


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("graphs", [[Graph(1)] * 3, [COMPLETE] * 12, [Graph(3, [(0, 1), (1, 2)])]])
def test_sets_without_much_to_edit_train(graphs: list[Graph]) -> None:
    model = GeoGAE("sequential", **TINY, edits=3, edit_kinds="leaves+edges+twins", epochs=1).fit(graphs)
    assert len(model.encode(graphs)) == len(graphs)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"edits": -1}, "edits=-1 must be a whole number"),
        ({"edits": 2, "edit_kinds": "leaves+loops"}, "edit_kinds='loops' is not known; valid are leaves, edges"),
        ({"edits": 2, "consensus": True}, "with consensus=True use edit_kinds='rewire'"),
        ({"stop_rule": "last"}, "stop_rule='last' is not known; valid are first, likeliest"),
        ({"edit_repeats": 0}, "edit_repeats=0 must be a whole number"),
        ({"edit_ramp": -1}, "edit_ramp=-1 must be a whole number"),
    ],
)
def test_wrong_parameters(wrong: dict[str, Any], line: str) -> None:
    with pytest.raises(GeoGAEError, match=line.replace("+", r"\+")):
        GeoGAE("sequential", **wrong).check_params()
