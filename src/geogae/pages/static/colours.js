// Colours of categories, of numbers and of elements; the theme's own come from the style sheet.

const PALETTE = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#aa3377", "#66ccee", "#ee8866", "#44bb99", "#777777"];  // P. Tol
const SCALE = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99],
  [170, 220, 50], [253, 231, 37]];  // viridis
const OTHER = "#9aa0ab";  // neither category nor number is known

const DARKEST = 0.28;  // where the scale begins on a dark ground: its first colours cannot be seen there

function scaleColour(share) {  // 0 … 1
  const begin = isDark() ? DARKEST : 0, at = (begin + (1 - begin) * clamp(share, 0, 1)) * (SCALE.length - 1),
    below = Math.min(Math.floor(at), SCALE.length - 2), rest = at - below;
  const mixed = SCALE[below].map((low, k) => Math.round(low + rest * (SCALE[below + 1][k] - low)));
  return `rgb(${mixed.join(",")})`;
}

const categoryColour = (code) => (code >= 0 ? PALETTE[code % PALETTE.length] : OTHER);

const themeColours = new Map();  // forgotten when the theme changes

function themeColour(name) {
  if (!themeColours.has(name)) {
    themeColours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  }
  return themeColours.get(name);
}

// Element symbols by atomic number, and the colours in which chemists expect the common ones.
const ELEMENTS = ("? H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb " +
  "Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir " +
  "Pt Au Hg Tl Pb Bi Po At Rn").split(" ");
const ELEMENT_COLOURS = {
  light: {
    1: "#7b8494", 7: "#2f5fd0", 8: "#d0302f", 9: "#1f8a4c", 15: "#c76a00", 16: "#a58000", 17: "#1f8a4c", 35: "#8a3b1d", 53: "#7a2f9e",
  },
  dark: {
    1: "#9aa3b2", 7: "#86a8ff", 8: "#ff7b72", 9: "#6fd694", 15: "#ffab5e", 16: "#e6cc5c", 17: "#6fd694", 35: "#e0916b", 53: "#c99be8",
  },
};

function elementColour(atomicNumber) {
  return ELEMENT_COLOURS[isDark() ? "dark" : "light"][atomicNumber] || themeColour("ink");
}

const ballColour = (atomicNumber) => (atomicNumber === 6 ? "#6b7a94" : elementColour(atomicNumber));

// Colours of a graph's nodes: elements, its first category, or the place in the node order.
function nodeColours(graph, n = graph.n) {
  return Array.from({ length: n }, (_, i) => {
    if (graph.atoms) return ballColour(graph.atoms[i * graph.atomColumns]);
    if (graph.kinds) return categoryColour(graph.kinds[i]);
    return scaleColour(0.08 + 0.84 * (n > 1 ? i / (n - 1) : 0));
  });
}
