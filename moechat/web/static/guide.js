// The guide of the first start, three steps long; whoever has seen or skipped it is left alone by it.
document.addEventListener("moechat:frame", () => {
  const { $, ask, go, open, keep, kept, chooseLanguage, listeners } = window.moechat;
  const dialog = $("#guide");

  async function step(name, fields = {}) {
    const view = await ask("guide", { action: { ...fields, step: name } });
    if (!view?.html) return;
    dialog.innerHTML = view.html;
    if (!dialog.open) dialog.showModal();
    dialog.querySelector("button.primary, [aria-pressed=true]")?.focus();
  }

  dialog.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.do === "guide-end") dialog.close();
    if (button?.dataset.do === "guide-language") {
      chooseLanguage(button.dataset.value);
      keep("language", button.dataset.value);
      await open();
      await step("character");
    }
    if (button?.dataset.name) {
      await go({ character: button.dataset.name });
      await step("model");
    }
  });
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    step("model", Object.fromEntries(new FormData(event.target, event.submitter)));
  });
  dialog.addEventListener("close", () => { keep("guided", true); $("#box").focus(); });
  listeners.frame.push((view) => { if (view.guide && !kept("guided") && !dialog.open) step("language"); });
});
