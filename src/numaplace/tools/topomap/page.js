"use strict";
/* Draws the nodes that come into view from the JSON in #cluster, and makes the tables sort and the search find.
   machines[]: packages[{id, numas[{id, cores[[cpu…]…], gpus[i…], hcas[i|null…]}]}], gpus[pci…], hcas[name…], stray[], reserved
   nodes[]: n(ame), r(emark), m(achine), p(ods)[{n(ame), c(pus), g(pus), h(cas), u = numas} or {n(ame), k = cards}] */
(() => {
  const { machines, nodes } = JSON.parse(document.getElementById("cluster").textContent);
  // Okabe and Ito's colours, told apart with every common colour blindness, then lighter ones; letters name them too.
  const COLOURS = ["#56b4e9", "#e69f00", "#00a67c", "#f0e442", "#cc79a7", "#e8743b", "#7f9cf5", "#b8b8b8",
                   "#a5d8f3", "#f5cf80", "#8fd6c2", "#f8f2a6", "#e6bcd3", "#f3b999", "#c3d0fb", "#dcdcdc"];
  const colour = i => COLOURS[i % COLOURS.length];
  const letter = i => i < 26 ? String.fromCharCode(65 + i) : letter(Math.floor(i / 26) - 1) + letter(i % 26);
  const SVG = "http://www.w3.org/2000/svg";

  function element(name, attributes = {}, text) {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function html(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }
  function titled(shape, text) { shape.append(element("title", {}, text)); return shape; }
  function cpusOf(text) {
    const cpus = [];
    for (const part of text ? text.split(",") : []) {
      const [first, last] = part.split("-").map(Number);
      for (let cpu = first; cpu <= (last ?? first); cpu++) cpus.push(cpu);
    }
    return cpus;
  }
  const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

  /* ---- one node ---- */
  const STEP = 8, CELL = 6.5, PAD = 8, DEVICE = 17, GAP = 3, WIDTH = 440;

  function holdersOf(node, machine) {
    const cpu = new Map(), gpu = new Map(), hca = new Map();
    node.p.forEach((pod, i) => {
      for (const id of cpusOf(pod.c)) cpu.set(id, i);
      for (const id of pod.g ?? []) gpu.set(id, i);
      for (const id of pod.h ?? []) hca.set(id, [...(hca.get(id) ?? []), i]);
    });
    const unnamed = node.p.reduce((sum, pod) => sum + (pod.k ?? 0), 0);
    const free = machine.gpus.filter((_, i) => !gpu.has(i)).length;
    return { cpu, gpu, hca, allUnnamed: unnamed > 0 && unnamed >= free };
  }

  function draw(node) {
    const machine = machines[node.m];
    const held = holdersOf(node, machine);
    const reserved = new Set(cpusOf(machine.reserved));
    const svg = element("svg", { role: "img" });
    const numas = machine.packages.flatMap(one => one.numas);
    const columns = Math.min(numas.length, numas.length > 4 ? 4 : 2) || 1;
    const inner = (WIDTH - (columns - 1) * PAD) / columns;
    let y = 0;
    const rows = [];
    for (const one of machine.packages)
      for (let i = 0; i < one.numas.length; i += columns) rows.push({ one, numas: one.numas.slice(i, i + columns) });
    // Packages of one numa each stand side by side; bigger ones get rows of their own.
    const lines = machine.packages.every(one => one.numas.length === 1)
      ? chunks(machine.packages.map(one => ({ one, numa: one.numas[0] })), columns)
      : rows.map(row => row.numas.map(numa => ({ one: row.one, numa })));
    for (const line of lines) {
      let tallest = 0;
      line.forEach(({ one, numa }, column) => {
        const group = element("g", { transform: `translate(${column * (inner + PAD)} ${y})` });
        tallest = Math.max(tallest, drawNuma(group, machine, one, numa, inner, held, node, reserved));
        svg.append(group);
      });
      y += tallest + PAD;
    }
    y = drawStray(svg, machine, held, node, y);
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${Math.max(1, y - PAD)}`);
    svg.prepend(element("title", {}, `Node ${node.n}`), element("desc", {}, describe(node, machine)));
    return svg;
  }
  function chunks(list, size) {
    const out = [];
    for (let i = 0; i < list.length; i += size) out.push(list.slice(i, i + size));
    return out;
  }

  function drawNuma(group, machine, one, numa, width, held, node, reserved) {
    const inside = width - 2 * PAD, most = Math.max(1, Math.floor(inside / STEP));
    const perRow = Math.ceil(numa.cores.length / Math.max(1, Math.ceil(numa.cores.length / most))) || 1;
    const threads = Math.max(1, ...numa.cores.map(core => core.length));
    const bands = Math.ceil(numa.cores.length / perRow), bandHeight = threads * STEP + 3;
    group.append(element("text", { x: PAD, y: 14 }, `package ${one.id} · NUMA ${numa.id}`));
    const top = 21, paths = new Map();
    numa.cores.forEach((core, i) => core.forEach((cpu, thread) => {
      const x = PAD + (i % perRow) * STEP, yy = top + Math.floor(i / perRow) * bandHeight + thread * STEP;
      const who = held.cpu.has(cpu) ? held.cpu.get(cpu) : reserved.has(cpu) ? "reserved" : "free";
      paths.set(who, (paths.get(who) ?? "") + `M${x} ${yy}h${CELL}v${CELL}h-${CELL}z`);
    }));
    for (const [who, d] of paths) {
      const shape = element("path", { d });
      if (typeof who === "number") shape.setAttribute("fill", colour(who)); else shape.setAttribute("class", who);
      group.append(titled(shape, typeof who === "number" ? `CPUs of ${node.p[who].n}` : `${who} CPUs`));
    }
    let y = top + bands * bandHeight + 3;
    const wide = Math.max(numa.gpus.length, numa.hcas.length);
    y = drawDevices(group, "GPU", numa.gpus, machine.gpus, wide, inside, y, gpu => held.gpu.has(gpu) ? [held.gpu.get(gpu)] : [], held, node);
    y = drawDevices(group, "HCA", numa.hcas, machine.hcas, wide, inside, y, hca => held.hca.get(hca) ?? [], held, node);
    group.prepend(element("rect", { class: "numa", x: .5, y: .5, width: width - 1, height: y + 3, rx: 6 }));
    return y + 4;
  }

  function drawDevices(group, kind, members, names, wide, inside, y, holders, held, node) {
    if (!members.some(member => member !== null)) return y;
    const size = Math.min(54, (inside - (wide - 1) * GAP) / Math.max(1, wide));
    members.forEach((member, column) => {
      if (member === null) return;
      const x = PAD + column * (size + GAP), who = holders(member), hidden = kind === "GPU" && !who.length && held.allUnnamed;
      const shape = element("rect", { class: who.length ? "device" : hidden ? "reserved" : "free", x, y, width: size, height: DEVICE, rx: 3 });
      if (who.length) shape.setAttribute("fill", colour(who[0]));
      const owners = who.map(i => node.p[i].n).join(", ") || (hidden ? "taken, by another plugin's choice" : "free");
      group.append(titled(shape, `${kind} ${names[member]}: ${owners}`));
      const mark = who.length ? who.map(letter).join("") : "";
      const word = size > 34 ? (mark ? `${kind} ${mark}` : hidden ? `${kind} ?` : kind) : mark || (hidden ? "?" : "");
      const text = element("text", { class: mark ? "on" : "off", x: x + size / 2, y: y + 12.5, "pointer-events": "none" });
      text.textContent = word.length * 6 > size + 6 ? mark.slice(0, 2) : word;
      group.append(text);
    });
    return y + DEVICE + GAP;
  }

  function drawStray(svg, machine, held, node, y) {
    if (!machine.stray.length && !machine.strayHcas.length) return y;
    const group = element("g", { transform: `translate(0 ${y})` });
    group.append(element("text", { x: PAD, y: 14 }, "NUMA unknown"));
    let bottom = 21;
    const wide = Math.max(machine.stray.length, machine.strayHcas.length), inside = WIDTH - 2 * PAD;
    bottom = drawDevices(group, "GPU", machine.stray, machine.gpus, wide, inside, bottom, gpu => held.gpu.has(gpu) ? [held.gpu.get(gpu)] : [], held, node);
    bottom = drawDevices(group, "HCA", machine.strayHcas, machine.hcas, wide, inside, bottom, hca => held.hca.get(hca) ?? [], held, node);
    group.prepend(element("rect", { class: "none", x: .5, y: .5, width: WIDTH - 1, height: bottom + 3, rx: 6 }));
    svg.append(group);
    return y + bottom + 4 + PAD;
  }

  function describe(node, machine) {
    const pods = node.p.map((pod, i) => `${letter(i)}: ${pod.n}, ${holds(pod)}`);
    return `${plural(machine.packages.length, "package")}, ${plural(machine.packages.flatMap(one => one.numas).length, "NUMA node")}, ` +
      `${plural(machine.gpus.length, "GPU")}, ${plural(machine.hcas.length, "HCA")}. ${pods.join("; ") || "No Pods."}`;
  }
  function holds(pod) {
    if (pod.k !== undefined) return pod.k ? `${plural(pod.k, "GPU")}, not chosen here` : "counted by node only";
    const cpus = cpusOf(pod.c).length;
    return [cpus ? plural(cpus, "CPU") : "shared CPUs", pod.g.length ? plural(pod.g.length, "GPU") : "",
            pod.h.length ? plural(pod.h.length, "HCA") : "", `NUMA ${pod.u.join(",")}`].filter(Boolean).join(", ");
  }

  function fill(card, node) {
    if (card.dataset.drawn) return;
    card.dataset.drawn = "yes";
    if (node.m !== null) card.append(draw(node)); else card.append(html("p", "its machine is not known", "note"));
    if (!node.p.length) return;
    const list = html("ul");
    node.p.forEach((pod, i) => {
      const row = html("li"), mark = html("b", pod.k === undefined ? letter(i) : "?");
      mark.style.background = pod.k === undefined ? colour(i) : "var(--free)";
      if (pod.k !== undefined) mark.style.color = "inherit";
      row.append(mark, html("span", pod.n), html("small", holds(pod)));
      list.append(row);
    });
    card.append(list);
  }

  /* ---- all nodes ---- */
  const place = document.getElementById("nodes"), overview = document.getElementById("overview");
  if (nodes.length <= 8) place.className = "wide";
  const watcher = "IntersectionObserver" in window ? new IntersectionObserver(entries => {
    for (const entry of entries) if (entry.isIntersecting) { fill(entry.target, nodes[entry.target.dataset.i]); watcher.unobserve(entry.target); }
  }, { rootMargin: "600px" }) : null;
  const FIRST = 12; // drawn at once, so that a small cluster never shows an empty frame
  const taken = node => node.p.reduce((sum, pod) => sum + (pod.g?.length ?? pod.k ?? 0), 0);
  const total = node => node.m === null ? 0 : machines[node.m].gpus.length;
  const cards = nodes.map((node, i) => {
    const card = html("article", undefined, "node"), head = html("h3", node.n);
    card.id = `node-${i}`; card.dataset.i = i; card.tabIndex = 0;
    const said = [total(node) ? `${taken(node)} of ${plural(total(node), "GPU")}` : plural(node.p.length, "Pod"), node.r].filter(Boolean);
    head.append(html("span", said.join(" · ")));
    card.append(head);
    place.append(card);
    if (watcher && i >= FIRST) watcher.observe(card); else fill(card, node);
    return card;
  });
  // A thousand nodes at a glance: one square each, darker with more of its GPUs taken.
  const cells = nodes.length > 12 ? nodes.map((node, i) => {
    const cell = html("a", undefined, "cell"), part = total(node) ? Math.min(1, taken(node) / total(node)) : 0;
    cell.href = `#node-${i}`;
    cell.title = `${node.n}: ${taken(node)} of ${plural(total(node), "GPU")} taken`;
    cell.setAttribute("aria-label", cell.title);
    if (part) cell.style.background = `hsl(207 ${55 + 30 * part}% ${82 - 52 * part}%)`;
    overview.append(cell);
    return cell;
  }) : [];
  if (cells.length) overview.append(html("div", "One square a node, in the order given; darker: more of its GPUs are taken.", "key"));

  /* ---- search and sort ---- */
  const rows = [...document.querySelectorAll("#pods tbody tr")].map(row => ({ row, text: row.textContent.toLowerCase() }));
  const texts = nodes.map(node => (node.n + " " + node.p.map(pod => pod.n).join(" ")).toLowerCase());
  const find = document.getElementById("find"), busy = document.getElementById("busy"), found = document.getElementById("found");
  let timer = 0;
  function search() {
    const wanted = find.value.trim().toLowerCase();
    let shown = 0;
    cards.forEach((card, i) => {
      card.hidden = !texts[i].includes(wanted) || (busy.checked && !nodes[i].p.length);
      shown += !card.hidden;
      cells[i]?.classList.toggle("off", card.hidden);
    });
    for (const { row, text } of rows) row.hidden = !text.includes(wanted);
    found.textContent = wanted || busy.checked ? `${plural(shown, "node")} shown` : "";
  }
  find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 120); });
  busy.addEventListener("change", search);
  const byName = new Map(nodes.map((node, i) => [node.n, i]));
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.tHead.rows[0].cells];
    const nodeColumn = heads.findIndex(head => head.textContent === "Node");
    if (nodeColumn >= 0) for (const row of table.tBodies[0].rows) {
      const cell = row.cells[nodeColumn], at = byName.get(cell.textContent);
      if (at === undefined) continue;
      const link = html("a", cell.textContent);
      link.href = `#node-${at}`;
      cell.replaceChildren(link);
    }
    if (table.tBodies[0].rows.length < 2 || table.className) continue;
    heads.forEach((head, column) => {
      const button = html("button", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const order = new Intl.Collator("en", { numeric: true });
        const sorted = [...table.tBodies[0].rows].sort((a, b) => order.compare(a.cells[column].textContent, b.cells[column].textContent));
        table.tBodies[0].append(...(down ? sorted.reverse() : sorted));
      });
    });
  }
})();
