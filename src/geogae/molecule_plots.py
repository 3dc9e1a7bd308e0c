"""Pictures of molecules: each beside what came back from its vector, drawn by RDKit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from matplotlib.colors import to_rgb

from geogae.errors import GeoGAEError
from geogae.files import atomic_path
from geogae.formats.chem import InvalidMoleculeError, to_rdkit, to_smiles, unsanitised
from geogae.formats.optional import require
from geogae.graph import Graph
from geogae.plots import ALARM, INK, LINE

CELL = (260, 190)  # pixels of one molecule, before its legend
_LETTER, _WIDE, _LINES = 12, 36, 3  # a legend's height of letters in pixels, letters in a line and lines at most
_TRIES = 300  # ways to lay two molecules over each other
_FAULT = "at fault"  # property of an atom
_RULE, _MARK, _GOOD = "#DDDDDD", "#FFB3B3", "#228833"


class _Drawn(NamedTuple):
    """A molecule with coordinates, what is marked in it, and what stands below."""

    molecule: Any  # None draws nothing
    valid: bool
    legend: str
    colour: str = INK
    atoms: Sequence[int] = ()
    bonds: Sequence[int] = ()


def plot_molecules(
    pairs: Sequence[tuple[Graph, Graph | None]], path: str | os.PathLike[str], *, columns: int = 2
) -> None:
    """Each molecule beside what came back from its vector, ``columns`` such pairs in a row, as .svg or .png.

    What came back is drawn in the place of the original as far as they agree, and marked where they do not; below it
    stands whether the two are the same molecule (by canonical SMILES). A graph that is no valid molecule is drawn as
    its atoms and bonds, the atoms at fault marked. Hydrogens are left out.
    """
    if not pairs or columns < 1:
        raise GeoGAEError(f"a picture needs at least one pair and one column, not {len(pairs)} and {columns}")
    suffix = Path(path).suffix.lower()
    if suffix not in (".svg", ".png"):
        raise GeoGAEError(f"{path} has no suffix of a picture of molecules; valid are .svg, .png")
    with require("rdkit.rdBase", "chem").BlockLogs():  # its complaints are in the legends
        drawing = _draw_molecules([_drawn_pair(*pair) for pair in pairs], min(columns, len(pairs)), suffix == ".png")
    with atomic_path(path) as temporary:
        temporary.write_bytes(drawing)


def _drawn_pair(true: Graph, back: Graph | None) -> tuple[_Drawn, _Drawn]:
    """The original, and what came back in the same orientation."""
    depict = require("rdkit.Chem.rdDepictor", "chem")
    original, smiles, fault = _read_molecule(true)
    if original is not None:
        depict.Compute2DCoords(original, canonOrient=True)
    name = true.name or smiles or f"{true.n} atoms"
    left = _Drawn(original, True, name)
    if fault:
        left = _Drawn(original, False, f"{name}, not a valid molecule: {fault}", ALARM, _at_fault(original))
    if back is None:
        return left, _Drawn(None, False, "cannot be encoded", ALARM)
    molecule, found, fault = _read_molecule(back)
    if molecule is None:
        return left, _Drawn(None, False, f"not a valid molecule: {fault}", ALARM)
    places = {} if original is None else _agreement(original, molecule)
    _depict_alike(molecule, original, places)
    if fault:
        return left, _Drawn(molecule, False, f"not a valid molecule: {fault}", ALARM, _at_fault(molecule))
    if found == smiles:
        return left, _Drawn(molecule, True, "same", _GOOD)
    wrong = ((), ()) if original is None else _differences(original, molecule, places)
    return left, _Drawn(molecule, True, f"differs: {found}", ALARM, *wrong)


def _depict_alike(molecule: Any, original: Any, places: dict[int, int]) -> None:
    """Coordinates for the molecule; atoms that it shares with the original are where that one has them."""
    point = require("rdkit.Geometry", "chem").Point2D
    shared = {j: point(original.GetConformer().GetAtomPosition(i)) for i, j in places.items()}
    require("rdkit.Chem.rdDepictor", "chem").Compute2DCoords(molecule, coordMap=shared, canonOrient=not shared)


def _read_molecule(graph: Graph) -> tuple[Any, str | None, str]:
    """The molecule without its hydrogens, its SMILES and why it is not valid; None if it cannot even be drawn."""
    chem = require("rdkit.Chem", "chem")
    try:
        smiles = to_smiles(graph)
        return chem.RemoveHs(to_rdkit(graph)), smiles, ""
    except InvalidMoleculeError as error:
        fault, blamed = error.reason, error.nodes
    try:
        molecule = unsanitised(graph)
        for node in blamed:
            molecule.GetAtomWithIdx(node).SetBoolProp(_FAULT, True)  # atoms are renumbered without hydrogens
        molecule.UpdatePropertyCache(strict=False)
        molecule = chem.RemoveHs(molecule, sanitize=False)
        molecule.UpdatePropertyCache(strict=False)
        chem.FastFindRings(molecule)
    except (ValueError, RuntimeError):  # no such element or bond
        return None, None, fault
    return molecule, None, fault


def _at_fault(molecule: Any) -> list[int]:
    """The atoms that RDKit complains of."""
    return [] if molecule is None else [atom.GetIdx() for atom in molecule.GetAtoms() if atom.HasProp(_FAULT)]


def _agreement(original: Any, molecule: Any) -> dict[int, int]:
    """Atoms of the original to atoms of the other, so that the least of the other differs."""
    search = require("rdkit.Chem.rdFMCS", "chem")
    tries: list[dict[int, int]] = [{}]
    if (original.GetNumAtoms(), original.GetNumBonds()) == (molecule.GetNumAtoms(), molecule.GetNumBonds()):
        tries.append(dict(enumerate(molecule.GetSubstructMatch(original))))  # of all fragments, unlike a common part
    for atoms, bonds in (
        (search.AtomCompare.CompareElements, search.BondCompare.CompareOrder),
        (search.AtomCompare.CompareAny, search.BondCompare.CompareAny),  # one atom changed amid others that are not
    ):
        if len(tries[-1]) == original.GetNumAtoms():
            break
        common = search.FindMCS([original, molecule], atomCompare=atoms, bondCompare=bonds, timeout=1).queryMol
        if common is not None:
            here = original.GetSubstructMatch(common)
            there = molecule.GetSubstructMatches(common, uniquify=False, maxMatches=_TRIES)
            tries += [dict(zip(here, match, strict=True)) for match in there if here]
    return min(tries, key=lambda places: sum(map(len, _differences(original, molecule, places))))


def _differences(original: Any, molecule: Any, places: dict[int, int]) -> tuple[list[int], list[int]]:
    """Atoms and bonds of the molecule that the original does not have in the same places."""

    def atom(it: Any) -> tuple[int, ...]:
        return it.GetAtomicNum(), it.GetFormalCharge(), it.GetTotalNumHs()

    where = {j: i for i, j in places.items()}
    atoms = [
        a.GetIdx()
        for a in molecule.GetAtoms()
        if (i := where.get(a.GetIdx())) is None or atom(original.GetAtomWithIdx(i)) != atom(a)
    ]
    bonds = []
    for bond in molecule.GetBonds():
        i, j = (where.get(end) for end in (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        before = None if i is None or j is None else original.GetBondBetweenAtoms(i, j)
        if before is None or before.GetBondType() != bond.GetBondType():
            bonds.append(bond.GetIdx())
    return atoms, bonds


def _draw_molecules(pairs: list[tuple[_Drawn, _Drawn]], columns: int, png: bool) -> bytes:
    """The grid: headings, and pairs framed, an arrow from left to right. A .png has two pixels for one."""
    draw, point = require("rdkit.Chem.Draw.rdMolDraw2D", "chem"), require("rdkit.Geometry", "chem").Point2D
    zoom = 2 if png else 1
    (width, height), letter, gap = (zoom * CELL[0], zoom * CELL[1]), zoom * _LETTER, zoom * 14
    lane, head = 3 * letter, 3 * letter  # of the arrow, and of the headings
    frame = 2 * width + lane
    rows = [pairs[start : start + columns] for start in range(0, len(pairs), columns)]
    below = [max(len(_lines(drawn.legend)) for pair in row for drawn in pair) for row in rows]
    heights = [height + round((1.35 * lines + 0.8) * letter) for lines in below]
    size = columns * (frame + gap) + gap, head + sum(heights) + gap * len(rows)
    drawer = (draw.MolDraw2DCairo if png else draw.MolDraw2DSVG)(*size, width, height)
    options = drawer.drawOptions()
    options.clearBackground = options.prepareMolsBeforeDrawing = False
    options.fixedBondLength = 27 * zoom  # alike everywhere, unless a molecule is too large for its place
    options.minFontSize, options.maxFontSize = 8 * zoom, 15 * zoom
    options.standardColoursForHighlightedAtoms = True
    options.bondLineWidth, options.padding = 1.5 * zoom, 0.07

    def text(words: str, x: float, y: float, colour: str) -> None:
        drawer.SetColour(to_rgb(colour))
        drawer.SetFontSize(letter)
        drawer.DrawString(words, point(x, y), 0, True)

    def lines(colour: str, *points: tuple[float, float]) -> None:
        drawer.SetColour(to_rgb(colour))
        drawer.SetLineWidth(zoom)
        for start, end in pairwise(points):
            drawer.DrawLine(point(*start), point(*end), True)

    def molecule(drawn: _Drawn, x: int, y: int) -> None:
        if drawn.molecule is None:
            return
        mark = to_rgb(_MARK)
        drawer.SetOffset(x, y)
        drawer.DrawMolecule(
            draw.PrepareMolForDrawing(drawn.molecule, kekulize=drawn.valid, wedgeBonds=False),
            highlightAtoms=drawn.atoms,
            highlightBonds=drawn.bonds,
            highlightAtomColors=dict.fromkeys(drawn.atoms, mark),
            highlightBondColors=dict.fromkeys(drawn.bonds, mark),
        )
        drawer.SetOffset(0, 0)

    drawer.SetColour((1, 1, 1))
    drawer.DrawRect(point(0, 0), point(*size), True)
    lefts = [gap + column * (frame + gap) for column in range(columns)]
    for left in lefts:
        text("original", left + width / 2, 0.6 * head, LINE)
        text("from z", left + lane + 1.5 * width, 0.6 * head, LINE)
    top = head
    for row, deep in zip(rows, heights, strict=True):
        for left, pair in zip(lefts, row, strict=False):
            right, bottom, y = left + frame, top + deep, top + height / 2
            lines(_RULE, (left, top), (right, top), (right, bottom), (left, bottom), (left, top))
            tail, tip = left + width + 0.6 * letter, left + width + lane - 0.6 * letter
            lines(LINE, (tail, y), (tip, y))
            lines(LINE, (tip - 0.4 * letter, y - 0.3 * letter), (tip, y), (tip - 0.4 * letter, y + 0.3 * letter))
            for drawn, x in zip(pair, (left, left + width + lane), strict=True):
                molecule(drawn, x, top)
                for line, words in enumerate(_lines(drawn.legend)):
                    text(words, x + width / 2, top + height + (1.35 * line + 0.6) * letter, drawn.colour)
        top += deep + gap
    drawer.FinishDrawing()
    content = drawer.GetDrawingText()
    return content if isinstance(content, bytes) else content.encode()


def _lines(legend: str) -> list[str]:
    """The legend in ASCII: of other letters RDKit's font draws nothing."""
    return wrap(legend.encode("ascii", "replace").decode(), _WIDE, max_lines=_LINES, placeholder=" ...")
