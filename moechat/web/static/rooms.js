// The rooms beside the chat: clicks, forms and keys reach Python as data; the page that comes back keeps its place and focus.
(() => {
  const SEARCH_MS = 300;
  const RESIZE_MS = 300;
  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  let isShown = ""; // the room that Python shows already, where it has led us there itself

  function roomWidth() {
    return Math.floor(document.querySelector("#room")?.clientWidth || window.innerWidth - 32);
  }

  function furnish(element, trigger, watch) {
    const tell = (data, more) => trigger("click", { action: { ...data, width: roomWidth(), ...more } });
    let last = {};

    function press(source) {
      last = { ...source.dataset };
      if (source.dataset.do === "show" && location.hash !== "#memories") {
        isShown = "memories";
        location.hash = "memories";
      }
      tell(source.dataset);
    }

    element.addEventListener("click", (event) => {
      const source = event.target.closest("[data-do]");
      if (source && source.tagName !== "FORM") press(source);
    });
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      last = { ...event.target.dataset };
      tell(event.target.dataset, Object.fromEntries(new FormData(event.target)));
    });

    document.addEventListener("click", (event) => {
      const look = event.target.closest("#talk [data-memory]");
      if (look) press({ dataset: { do: "show", id: look.dataset.memory } });
    });

    let waiting = 0;
    element.addEventListener("input", (event) => {
      const field = event.target;
      if (!field.dataset.live || event.isComposing) return;
      clearTimeout(waiting);
      waiting = setTimeout(() => tell({ do: field.dataset.live }, { q: field.value }), SEARCH_MS);
    });
    element.addEventListener("compositionend", (event) => event.target.dispatchEvent(new Event("input", { bubbles: true })));

    element.addEventListener("keydown", (event) => {
      const button = event.target.closest("svg [data-do]");
      if (event.key === "Escape" && element.querySelector("[data-do=cancel]")) {
        element.querySelector("[data-do=cancel]").click();
      } else if (button && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        press(button);
      } else if (button && event.key in KEYS) {
        event.preventDefault();
        neighbour(button, ...KEYS[event.key])?.focus();
      }
    });
    element.addEventListener("focusin", (event) => {
      const button = event.target.closest("svg [data-do]");
      if (button) stopAt(button);
    });

    let drawnAt = 0;
    let resizing = 0;
    new ResizeObserver(() => {
      clearTimeout(resizing);
      resizing = setTimeout(() => {
        if (element.querySelector("svg") && drawnAt && Math.abs(roomWidth() - drawnAt) > 24) tell({ do: "resize" });
      }, RESIZE_MS);
    }).observe(element);

    let arrived = "";
    watch("value", () => {
      drawnAt = roomWidth();
      for (const grid of element.querySelectorAll("[data-grid]")) {
        stopAt(grid.querySelector("[aria-pressed=true]") ?? grid.querySelector("[data-do]"));
      }
      const search = element.querySelector("[data-live]");
      if (search && search !== document.activeElement) search.value = search.getAttribute("value");
      const first = renew(element);
      const there = element.querySelector("[data-arrive]");
      if (there && there.dataset.arrive !== arrived) there.querySelector("h2").scrollIntoView({ block: "center", behavior: "smooth" });
      arrived = there?.dataset.arrive ?? "";
      if (first) first.focus();
      else if (document.activeElement === document.body) again(element, last)?.focus({ preventScroll: true });
    });
  }

  // A form that is another one now begins with its own values; gives its first field.
  function renew(element) {
    let first = null;
    for (const form of element.querySelectorAll("form[data-form]")) {
      if (form.drawnFor === form.dataset.form) continue;
      form.drawnFor = form.dataset.form;
      form.reset();
      first ??= form.querySelector("[data-first]");
    }
    return first;
  }

  // The element to go on from, where the one that was used is gone.
  function again(element, last) {
    const named = (name, value) => value && element.querySelector(`[data-${name}="${CSS.escape(value)}"]`);
    return named("id", last.id) || named("topic", last.topic) || named("day", last.day) || element.querySelector("[data-do]");
  }

  // One stop of the tab key in a picture; the arrow keys go on from there.
  function stopAt(button) {
    for (const one of button?.closest("[data-grid]")?.querySelectorAll("[data-do]") ?? []) one.setAttribute("tabindex", "-1");
    button?.setAttribute("tabindex", "0");
  }

  function neighbour(button, right, down) {
    const centre = (one) => {
      const box = one.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    const [x, y] = centre(button);
    let best = null;
    let least = Infinity;
    for (const one of button.closest("[data-grid]").querySelectorAll("[data-do]")) {
      const [otherX, otherY] = centre(one);
      const ahead = (otherX - x) * right + (otherY - y) * down;
      const aside = Math.abs((otherX - x) * down) + Math.abs((otherY - y) * right);
      if (one !== button && ahead > 1 && ahead + 2 * aside < least) [best, least] = [one, ahead + 2 * aside];
    }
    return best;
  }

  Object.assign(window.moechat, {
    furnish,
    roomWidth,
    isShown: (room) => {
      const shown = room === isShown;
      isShown = "";
      return shown;
    },
  });
})();
