// The rooms beside the talk: clicks, forms and keys go to the program as data; what comes back keeps its place and focus.
document.addEventListener("moechat:frame", () => {
  const { $, state, ask, go, listeners } = window.moechat;
  const SEARCH_MS = 300;
  const RESIZE_MS = 300;
  const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const element = $("#room");
  let last = {}; // what was clicked last
  let turn = 0; // answers to older clicks are not shown
  let drawnAt = 0;
  let drawnFor = "";
  let drawnRoom = "";
  let arrived = "";
  let refreshing = 0;
  let [released, release] = [Promise.resolve(), () => {}]; // until the finger or the mouse's button is up

  const there = () => [...document.querySelectorAll("#doors [data-room]")].map((door) => door.dataset.room)
    .find((room) => location.hash === `#${room}`) ?? "chat";
  const width = () => Math.floor(element.clientWidth || window.innerWidth - 32);

  async function act(action) {
    const mine = ++turn;
    clearTimeout(refreshing);
    element.setAttribute("aria-busy", "true");
    const view = await ask("room", { action: { ...action, width: String(width()) } });
    await released; // A click that has begun here ends here; then its answer is drawn instead.
    if (mine === turn) element.removeAttribute("aria-busy");
    if (!view || mine !== turn || view.html === undefined) return;
    if (view.talks) location.hash = "chat";
    else if (view.room !== there()) location.hash = view.room;
    if (view.go) go(view.go);
    const place = view.room === drawnRoom ? $("#remembered").scrollTop : 0;
    drawnRoom = view.room;
    const forms = [...element.querySelectorAll("form[data-form]")];
    const typed = new Map(forms.map((form) => [form.dataset.form, [...new FormData(form)]]));
    element.innerHTML = view.html;
    mark();
    $("#remembered").scrollTop = place;
    settle(typed);
  }

  window.moechat.act = act;

  function mark() {
    $("#frame").dataset.room = there();
    for (const door of document.querySelectorAll("#doors [data-room]")) {
      door.setAttribute("aria-current", door.dataset.room === there() ? "page" : "false");
    }
  }

  // After every drawing: pictures have one stop of the tab key, forms begin with their own values, the focus goes on.
  function settle(typed) {
    let first = null;
    const isRefused = element.querySelector(".note-line.bad:not(:empty)") !== null;
    for (const form of element.querySelectorAll("form[data-form]")) {
      const values = typed.get(form.dataset.form);
      if (!values) first ??= form.querySelector("[data-first]");
      const isKept = (name) => form.elements[name] && (isRefused || (name === "key" && "keeps" in form.dataset));
      for (const [name, value] of values ?? []) if (isKept(name)) form.elements[name].value = value;
    }
    drawnAt = width();
    for (const grid of element.querySelectorAll("[data-grid]")) {
      stopAt(grid.querySelector("[aria-pressed=true]") ?? grid.querySelector("[data-do]"));
    }
    const to = element.querySelector("[data-arrive]");
    if (to && to.dataset.arrive !== arrived) to.querySelector("h2").scrollIntoView({ block: "center", behavior: "smooth" });
    arrived = to?.dataset.arrive ?? "";
    clearTimeout(refreshing);
    const changing = element.querySelector("[data-refresh]");
    if (changing) refreshing = setTimeout(() => element.querySelector("form") || act({ do: "look" }), changing.dataset.refresh * 1000);
    if (last.live) {
      const field = element.querySelector(`[data-live="${last.live}"]`);
      field?.focus();
      field?.setSelectionRange?.(last.at, last.at);
    } else if (first) {
      first.focus();
      first.closest("form")?.scrollIntoView({ block: "nearest" });
    } else if (document.activeElement === document.body) {
      again()?.focus({ preventScroll: true });
    }
  }

  function press(source) {
    last = { ...source.dataset };
    act(source.dataset);
  }

  element.addEventListener("pointerdown", (event) => {
    release();
    if (!event.target.closest("button, a, summary, label, input, select, [data-do]")) return; // A bar that scrolls may tell of no end.
    released = new Promise((done) => { release = done; });
  });
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => setTimeout(release), true); // after the click
  element.addEventListener("click", (event) => {
    const source = event.target.closest("[data-do]");
    if (source && source.tagName !== "FORM" && !("local" in source.dataset)) press(source);
  });
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    last = { ...event.target.dataset };
    const fields = new FormData(event.target, event.submitter);
    const values = {};
    for (const name of new Set(fields.keys())) values[name] = fields.getAll(name).join(" ");
    act({ ...event.target.dataset, ...values });
  });
  document.addEventListener("click", (event) => {
    const look = event.target.closest("#talk [data-memory]");
    if (look) act({ do: "show", id: look.dataset.memory });
    const door = event.target.closest("#doors [data-room]");
    if (door) leave(door.dataset.room);
  });

  let waiting = 0;
  element.addEventListener("input", (event) => {
    const field = event.target;
    if (!field.dataset.live || event.isComposing) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      last = { live: field.dataset.live, at: field.selectionStart };
      act({ do: field.dataset.live, q: field.value });
    }, SEARCH_MS);
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

  let resizing = 0;
  new ResizeObserver(() => {
    clearTimeout(resizing);
    resizing = setTimeout(() => {
      if (element.querySelector("svg") && drawnAt && Math.abs(width() - drawnAt) > 24) act({ do: "resize" });
    }, RESIZE_MS);
  }).observe(element);

  function enter() {
    if ($("#frame").dataset.room === there()) return;
    turn += 1;
    element.removeAttribute("aria-busy");
    mark();
    tellRoom();
  }
  function leave(room) {
    location.hash = room;
    enter(); // The event comes later; an answer in between would lead back.
  }
  function tellRoom() {
    if (there() !== "chat") act({ do: "room", room: there() });
  }
  window.addEventListener("hashchange", enter);
  listeners.frame.push((view) => {
    mark();
    const now = JSON.stringify([state.place.character, state.place.world, state.language]);
    if (now === drawnFor) return;
    drawnFor = now;
    tellRoom();
  });

  // The element to go on from, where the one that was used is gone.
  function again() {
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
});
