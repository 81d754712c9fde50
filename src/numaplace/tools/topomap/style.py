"""The style sheet of the drawings of machines: a colour for each kind of part, told apart by any colour vision."""

STYLE = """
.np text { font: 11px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2933; }
.np text.small { font-size: 9px; }
.np text.head { font-weight: 600; }
.np text.soft { fill: #52606d; }
.np .package { fill: #f4f6f8; stroke: #9aa5b1; }
.np .numa { fill: #ffffff; stroke: #52606d; }
.np .bridge { fill: none; stroke: #7b8794; stroke-dasharray: 3 2; }
.np .cpu { fill: #b6c6d8; }
.np .lines { stroke: #ffffff; fill: none; }
.np .gpu rect { fill: #0072b2; stroke: #00456b; }
.np .gpu text { fill: #ffffff; }
.np .hca rect { fill: #f3c568; stroke: #8a5f00; }
.np .bad rect { stroke: #b00020; stroke-width: 2; stroke-dasharray: 4 2; }
.np .link { fill: none; stroke: #3e4c59; }
""".strip()
