"""The page: a Gradio application with places for what the page's own script draws. ``routes`` has what the script asks for, and
``static`` how it looks."""

from __future__ import annotations

import gradio as gr

from moechat.web.desk import language_words


def build(language: str) -> gr.Blocks:
    """The frame; ``language`` is the configured one, "auto": the browser's."""
    loading = language_words(language)("loading")
    with gr.Blocks(title="MoeChat", fill_height=True, fill_width=True, analytics_enabled=False) as blocks:
        gr.HTML(
            FRAME.format(loading=loading, language="" if language == "auto" else language),
            elem_id="moechat",
            apply_default_css=False,
        )
    return blocks


FRAME = """
<div id="frame" data-room="chat" data-language="{language}">
  <header id="brand"></header>
  <div id="doors"></div>
  <aside id="side"><div id="characters"></div><div id="talks"></div></aside>
  <div id="main">
    <div id="title"></div>
    <div id="away" role="alert" hidden></div>
    <div id="sheet" hidden></div>
    <div id="problems"></div>
    <div id="talk" role="region" tabindex="0">
      <div id="more" class="empty" hidden></div>
      <div id="said" role="log"><p class="empty">{loading}</p></div>
      <div id="notice"></div>
    </div>
    <button type="button" id="newest" class="act" hidden></button>
    <div id="note" role="status" hidden></div>
    <form id="composer">
      <p id="kept" hidden></p>
      <textarea id="box" rows="1" enterkeyhint="send" disabled></textarea>
      <button type="submit" id="send" class="act primary" disabled></button>
      <button type="button" id="stop" class="act danger" hidden></button>
    </form>
  </div>
  <dialog id="guide"></dialog>
  <section id="remembered"><div id="room"></div></section>
</div>
"""
