"""Hypothesis strategies for machines: small, odd, and now and then lying; they shrink to one bare numa."""

from dataclasses import replace

from hypothesis import strategies as st

from tests.oracle.described import NumaShape, Shape, Site

MAX_DEVICES = 8


@st.composite
def numa_shapes(draw: st.DrawFn, threads: int) -> NumaShape:
    """One numa of 1..4 cores; now and then some have one thread only."""
    cores = draw(st.sampled_from([4, 3, 2, 1]))
    pages = draw(st.sampled_from([0, 0, 1, 2, 4]))
    odd = threads > 1 and draw(st.integers(0, 9)) == 9
    return NumaShape(
        cores=cores,
        memory_gib=draw(st.sampled_from([8, 4, 12, None])),
        free_gib=draw(st.sampled_from([None, None, 0, 2, 5])),
        pages=pages,
        pages_free=draw(st.integers(0, pages)) if pages and draw(st.booleans()) else None,
        caches=draw(st.integers(1, min(3, cores))),
        half_cores=draw(st.integers(0, cores)) if odd else 0,
    )


@st.composite
def sites(draw: st.DrawFn, numas: int) -> Site:
    """Where a device hangs: mostly an honest numa and a switch of its host bridge."""
    numa = draw(st.integers(0, numas - 1))
    oddity = draw(st.integers(0, 19))
    site = Site(numa, switch=draw(st.sampled_from([(0,), (0, 0), (0, 1), (1,), ()])))
    if oddity >= 18:
        return replace(site, numa=None, bridge=numa)
    if oddity == 17:
        return Site(None)
    if oddity == 16:
        return replace(site, bridge=-1)
    if oddity == 15:
        return replace(site, bridge=draw(st.integers(0, numas - 1)))
    return replace(site, fault=oddity == 14, mig=oddity == 13)


@st.composite
def distances(draw: st.DrawFn, numas: int) -> dict[tuple[int, int], int]:
    """A SLIT: mostly none or all of one kind, else with holes and asymmetry."""
    pairs = [(a, b) for a in range(numas) for b in range(numas) if a != b]
    kind = draw(st.sampled_from(["none", "ring", "wild"]))
    if kind == "none":
        return {}
    if kind == "ring":
        return {(a, b): 10 + 2 * min((a - b) % numas, (b - a) % numas) for a, b in pairs}
    told = {pair: draw(st.sampled_from([None, 11, 12, 21, 32])) for pair in pairs}
    return {pair: distance for pair, distance in told.items() if distance is not None}


@st.composite
def shapes(draw: st.DrawFn, max_numas: int = 4, max_devices: int = MAX_DEVICES) -> Shape:
    """A machine of up to four placeable numas, eight GPUs and eight HCAs."""
    threads = draw(st.sampled_from([2, 1]))
    least_numas = draw(st.sampled_from([1, 2, 3]))
    numas = draw(st.lists(numa_shapes(threads), min_size=min(least_numas, max_numas), max_size=max_numas))
    package_size = draw(st.integers(1, max(1, len(numas))))
    numas = [replace(numa, package=index // package_size) for index, numa in enumerate(numas)]
    if draw(st.integers(0, 9)) == 9:  # a domain of memory alone
        numas.append(NumaShape(cores=0, package=9))
    least = draw(st.integers(0, max_devices))  # lists alone would mostly be short
    gpus = draw(st.lists(sites(len(numas)), min_size=least, max_size=max_devices))
    hung = draw(st.lists(sites(len(numas)), min_size=least, max_size=max_devices))
    hcas = [replace(site, mig=False) for site in hung]
    links = st.tuples(st.integers(0, MAX_DEVICES - 1), st.integers(0, MAX_DEVICES - 1))
    nvlinks = draw(st.lists(links, max_size=6))
    return Shape(
        numas=tuple(numas),
        threads=threads,
        siblings_apart=draw(st.booleans()),
        gpus=tuple(gpus),
        hcas=tuple(hcas),
        nvlinks=tuple((min(pair), max(pair)) for pair in nvlinks if max(pair) < len(gpus)),
        distances=draw(distances(len(numas))),
        hybrid=draw(st.integers(0, 3)) == 3,
    )


@st.composite
def servers(draw: st.DrawFn) -> Shape:
    """Regular servers of 8 numas and 16 GPUs: what the oracle can cut by symmetry."""
    numas, per_switch = draw(st.sampled_from([(8, 2), (8, 4), (4, 4)]))
    switches = 16 // per_switch
    homes = [switch * numas // switches for switch in range(switches)]
    hung = [Site(home, switch=(switch,)) for switch, home in enumerate(homes) for _ in range(per_switch)]
    hcas = hung[:: draw(st.sampled_from([per_switch, 2, 1]))] if draw(st.booleans()) else []
    linked = draw(st.sampled_from([0, 4, 16]))
    nvlinks = [(a, b) for a in range(16) for b in range(a + 1, 16) if linked and a // linked == b // linked]
    return Shape(
        numas=tuple(NumaShape(cores=4, package=i * 2 // numas, memory_gib=16, pages=2) for i in range(numas)),
        siblings_apart=True,
        gpus=tuple(hung),
        hcas=tuple(hcas),
        nvlinks=tuple(nvlinks),
    )
