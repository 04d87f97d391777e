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
  const opacity = (node) => (node ? Number(getComputedStyle(node).opacity) * opacity(node.parentElement) : 1);
  const contrast = (node, colour, behind) => {
    const [drawn, under] = [parts(colour), ground(behind)], much = drawn[3] * opacity(node);
    const [a, b] = [light(drawn.slice(0, 3).map((one, index) => one * much + under[index] * (1 - much))), light(under)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const seen = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const poor = [], edgeless = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !seen(node) || node.closest(":disabled, svg")) continue;
    const ratio = contrast(node, getComputedStyle(node).color, node);
    if (ratio < 4.5) poor.push(`${node.tagName}.${node.className} "${node.textContent.slice(0, 30)}" ${ratio.toFixed(2)}`);
  }
  for (const node of document.querySelectorAll("button, input, select, textarea")) {
    const { borderTopWidth: width, borderTopColor: colour } = getComputedStyle(node);
    if (!seen(node) || node.closest(":disabled, .toast") || width === "0px" || parts(colour)[3] === 0) continue;
    const ratio = contrast(node, colour, node.parentElement);
    if (ratio < 3) edgeless.push(`${node.tagName}.${node.className} "${node.textContent.slice(0, 30)}" ${ratio.toFixed(2)}`);
  }
  const nameless = [...document.querySelectorAll("button, a[href], input, select, textarea, [role=img], summary")]
    .filter((node) => seen(node) && !(node.getAttribute("aria-label") || node.labels?.length || node.textContent.trim()))
    .map((node) => node.outerHTML.slice(0, 120));
  const brief = (node) => node.outerHTML.slice(0, 120), all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
  const repeated = (values) => values.filter((one, place) => values.indexOf(one) !== place);
  const headings = all("h1, h2, h3, h4").filter((node) => !node.closest(".prose, dialog")), level = (node) => Number(node.tagName[1]);
  const misbuilt = [
    ...all(":is(a[href], button, summary, label) :is(a[href], button, input, select, textarea)").filter((node) => !node.closest("label")).map((node) => `inside another control: ${brief(node)}`),
    ...all("th, h1, h2, h3, h4").filter((node) => !node.closest(".prose") && !node.textContent.trim()).map((node) => `empty: ${brief(node)}`),
    ...all("[tabindex]").filter((node) => node.tabIndex > 0).map((node) => `out of the tab order: ${brief(node)}`),
    ...all("th:not([scope])").map((node) => `no scope: ${brief(node)}`),
    ...repeated([...document.querySelectorAll("[id]")].map((node) => node.id)).map((id) => `two elements with the id ${id}`),
    ...repeated(all(":is(section, nav)[aria-label]").map((node) => node.tagName + node.ariaLabel)).map((name) => `two regions with the name ${name}`),
    ...headings.filter((node, place) => place > 0 && level(node) > level(headings[place - 1]) + 1).map((node) => `a level is skipped: ${brief(node)}`),
    ...(document.documentElement.lang ? [] : ["the page has no language"]),
  ];
  return { poor, nameless, edgeless, misbuilt };
}
