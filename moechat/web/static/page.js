// What the page does by itself: light and dark, staying at the newest message, and small courtesies of the keyboard.
(() => {
  const THEME = "moechat.theme";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const near = 80; // px from the end that count as "at the end"

  function isDark() {
    const chosen = localStorage.getItem(THEME);
    return chosen ? chosen === "dark" : dark.matches;
  }

  function applyTheme() {
    document.body?.classList.toggle("dark", isDark());
    document.documentElement.style.colorScheme = isDark() ? "dark" : "light";
  }

  function toggleTheme() {
    const wanted = isDark() ? "light" : "dark";
    // back at what the system says: follow the system again
    if ((wanted === "dark") === dark.matches) localStorage.removeItem(THEME);
    else localStorage.setItem(THEME, wanted);
    applyTheme();
  }

  // Stay at the end while new text comes, unless the reader has scrolled up; keep the place when earlier talk is put above.
  function follow(talk) {
    let atEnd = true;
    let fromEnd = null;
    talk.addEventListener("scroll", () => {
      atEnd = talk.scrollHeight - talk.scrollTop - talk.clientHeight < near;
    }, { passive: true });
    talk.addEventListener("click", (event) => {
      if (event.target.closest("#earlier")) fromEnd = talk.scrollHeight - talk.scrollTop;
      if (event.target.closest("#newest")) atEnd = true;
    });
    const settle = () => {
      if (fromEnd !== null) talk.scrollTop = talk.scrollHeight - fromEnd;
      else if (atEnd) talk.scrollTop = talk.scrollHeight;
    };
    new MutationObserver((changes) => {
      if (changes.every((change) => change.target.closest?.("details"))) return;
      settle();
      const past = document.querySelector("#past");
      if (fromEnd !== null && changes.some((change) => past?.contains(change.target))) fromEnd = null;
    }).observe(talk, { childList: true, subtree: true, characterData: true });
    new ResizeObserver(settle).observe(talk);
    document.addEventListener("moechat:end", () => { atEnd = true; fromEnd = null; settle(); });
    settle();
  }

  // Whose session has ended is led to where one begins.
  const ask = window.fetch;
  window.fetch = async (...request) => {
    const answer = await ask(...request);
    if (answer.status === 401) location.assign("/login");
    return answer;
  };

  // What was unfolded at the end of the talk comes into view.
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.closest?.("#talk")) event.target.scrollIntoView({ block: "nearest" });
  }, true);

  function say() {
    document.dispatchEvent(new Event("moechat:end"));
    document.querySelector("#box textarea")?.focus();
  }

  function openConnection() {
    const label = document.querySelector("#connection button");
    if (label && !document.querySelector("#base-url input, #base-url textarea")?.offsetParent) label.click();
    document.querySelector("#connection")?.scrollIntoView({ block: "nearest" });
    requestAnimationFrame(() => document.querySelector("#base-url input, #base-url textarea")?.focus());
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-opens=connection]")) openConnection();
    if (event.target.closest?.("#characters button")) say();
  });
  // A double click, or Enter pressed twice or held, sends once.
  const last = { text: "", at: -Infinity };
  function isSentAgain(text) {
    const now = performance.now();
    if (text && text === last.text && now - last.at < 700) return true;
    last.text = text;
    last.at = now;
    return false;
  }
  function once(event) {
    const enter = event.type === "keypress";
    if (enter && (event.key !== "Enter" || event.shiftKey || !event.target.closest?.("#box"))) return;
    if (!enter && !event.target.closest?.("#send, #again")) return;
    const sends = enter || event.target.closest("#send");
    const twice = event.detail > 1 || (sends && isSentAgain(document.querySelector("#box textarea")?.value));
    if (twice) {
      event.preventDefault();
      event.stopImmediatePropagation();
    } else {
      say();
    }
  }
  document.addEventListener("click", once, true);
  document.addEventListener("keypress", once, true);

  applyTheme();
  dark.addEventListener("change", applyTheme);
  document.addEventListener("DOMContentLoaded", applyTheme);
  const waiting = new MutationObserver(() => {
    const talk = document.querySelector("#talk");
    if (!talk) return;
    waiting.disconnect();
    applyTheme(); // Gradio sets its own when it starts
    talk.setAttribute("role", "region");
    talk.setAttribute("tabindex", "0");
    document.querySelector("#tail")?.setAttribute("role", "log"); // what is new is read out, not the whole talk again
    follow(talk);
    const brand = document.querySelector("#brand");
    const tell = () => {
      const data = brand?.querySelector("[data-language]")?.dataset;
      document.documentElement.lang = data?.language === "en" ? "en" : "zh-CN";
      talk.setAttribute("aria-label", data?.talk ?? "");
    };
    tell();
    if (brand) new MutationObserver(tell).observe(brand, { childList: true, subtree: true, attributes: true });
  });
  waiting.observe(document.documentElement, { childList: true, subtree: true });
  window.moechat = { toggleTheme };
})();
