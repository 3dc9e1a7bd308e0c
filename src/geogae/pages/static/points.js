// Many discs at once, written pixel by pixel: 20,000 of them within a frame, with or without a graphics card.

const SHIFTS = 4;  // discs are placed to this part of a pixel

function rgb(colour) {  // "#rrggbb" or "rgb(r,g,b)"
  if (colour[0] === "#") return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return colour.match(/[\d.]+/g).slice(0, 3).map(Number);
}

class PointPainter {
  constructor() {
    this.masks = new Map();
  }

  fits(width, height) { return Boolean(this.image) && this.image.width === width && this.image.height === height; }

  begin(width, height, ground) {
    if (!this.fits(width, height)) {
      this.image = new ImageData(width, height);
      this.words = new Uint32Array(this.image.data.buffer);
    }
    const [red, green, blue] = rgb(ground);
    this.words.fill(((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0);
  }

  // How much of each pixel a disc covers, 0 … 255, for each shift.
  mask(radius) {
    const key = Math.round(radius * 16);
    if (!this.masks.has(key)) {
      if (this.masks.size > 40) this.masks.clear();
      const half = Math.ceil(radius + 1), side = 2 * half + 1, shifts = [];
      for (let shift = 0; shift < SHIFTS * SHIFTS; shift++) {
        const dx = Math.floor(shift / SHIFTS) / SHIFTS, dy = (shift % SHIFTS) / SHIFTS, cover = new Uint8Array(side * side);
        for (let y = 0; y < side; y++) {
          for (let x = 0; x < side; x++) {
            cover[y * side + x] = 255 * clamp(radius + 0.5 - Math.hypot(x - half - dx, y - half - dy), 0, 1);
          }
        }
        shifts.push(cover);
      }
      this.masks.set(key, { half, side, shifts });
    }
    return this.masks.get(key);
  }

  disc(x, y, { half, side, shifts }, red, green, blue, opacity) {
    const { words } = this, { width, height, data } = this.image, left = Math.floor(x), top = Math.floor(y);
    const cover = shifts[Math.floor((x - left) * SHIFTS) * SHIFTS + Math.floor((y - top) * SHIFTS)];
    if (left < half || top < half || left + half >= width || top + half >= height) return;  // cut off: at the border
    const whole = opacity === 1 ? 255 : 256, word = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    for (let row = 0; row < side; row++) {
      let pixel = (top - half + row) * width + left - half;
      for (let k = row * side, end = k + side; k < end; k++, pixel++) {
        if (cover[k] === 0) continue;
        if (cover[k] === whole) { words[pixel] = word; continue; }
        const at = 4 * pixel, share = (cover[k] * opacity) / 255;
        data[at] += (red - data[at]) * share;
        data[at + 1] += (green - data[at + 1]) * share;
        data[at + 2] += (blue - data[at + 2]) * share;
      }
    }
  }
}
