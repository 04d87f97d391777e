() => {
  const parts = (colour) => {
    const found = colour.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return found.length < 4 ? [...found, 1] : found;
  };
  const light = (colour) => {
    const [red, green, blue] = colour.map((one) => (one / 255 <= 0.03928 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return [255, 255, 255, 1];
  };
  const seen = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const poor = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !seen(node) || node.closest(":disabled, svg")) continue;
    const [a, b] = [light(parts(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${node.tagName}.${node.className} "${node.textContent.slice(0, 30)}" ${ratio.toFixed(2)}`);
  }
  const nameless = [...document.querySelectorAll("button, a[href], input, select, textarea, [role=img], summary")]
    .filter((node) => seen(node) && !(node.getAttribute("aria-label") || node.labels?.length || node.textContent.trim()))
    .map((node) => node.outerHTML.slice(0, 120));
  return { poor, nameless };
}
