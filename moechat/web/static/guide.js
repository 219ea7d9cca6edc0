// The guide of the first start, three steps long; whoever has seen or skipped it is left alone by it.
document.addEventListener("moechat:frame", () => {
  const { $, state, ask, go, open, keep, kept, chooseLanguage, listeners } = window.moechat;
  const dialog = $("#guide");

  // What went wrong is said where the person looks.
  function tellThere(view) {
    const line = dialog.querySelector(".note-line") ?? dialog.insertBefore(document.createElement("p"), dialog.querySelector(".guide-foot"));
    Object.assign(line, { className: "note-line bad", role: "alert", textContent: view?.note ?? state.labels.away });
  }

  const called = () => ({ called: dialog.querySelector("[name=called]")?.value ?? "" });

  async function step(name, fields = {}) {
    const view = await ask("guide", { action: { ...fields, step: name } });
    if (!view?.html) {
      tellThere(view);
      return false;
    }
    dialog.innerHTML = view.html;
    if (!dialog.open) dialog.showModal();
    const form = dialog.querySelector("form[data-keeps]");
    if (form) form.elements.key.value = fields.key ?? ""; // The program does not send it back.
    const next = [".offered .chip", ".note-line ~ .guide-foot .primary", "[name=called]", "[name=base_url]", "button.primary"];
    next.map((one) => dialog.querySelector(one)).find(Boolean)?.focus();
    return true;
  }

  dialog.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.do === "guide-end" && (!called().called || await step("model", called()))) dialog.close();
    if (button?.dataset.do === "guide-language") {
      chooseLanguage(button.dataset.value);
      keep("language", button.dataset.value);
      await open();
      await step("character");
    }
    if (button?.dataset.name) {
      if (await step("model", called())) await go({ character: button.dataset.name });
    }
  });
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.target.elements.called) return dialog.querySelector(".character[aria-pressed=true]")?.focus();
    step("model", Object.fromEntries(new FormData(event.target, event.submitter)));
  });
  dialog.addEventListener("close", () => { keep("guided", true); $("#box").focus(); });
  listeners.frame.push((view) => { if (view.guide && !kept("guided") && !dialog.open) step("language"); });
});
