// Files that come and go: dropped anywhere on the page or chosen, they are shown in the studio before anything is written.
document.addEventListener("moechat:frame", () => {
  const { $, state, go } = window.moechat;
  const LONGEST_SIDE = 1024; // px of a picture that is made smaller
  const SMALL = 4 << 20; // bytes of a PNG that stays as it is
  const room = $("#room");
  const cover = Object.assign(document.createElement("div"), { id: "drop", hidden: true });
  cover.setAttribute("role", "status");
  $("#frame").append(cover);
  let fading = 0;

  function cover_with(text, hint = "", seconds = 0) {
    clearTimeout(fading);
    cover.replaceChildren();
    for (const [tag, words] of [["b", text], ["span", hint]]) {
      if (words) cover.append(Object.assign(document.createElement(tag), { textContent: words }));
    }
    cover.hidden = !text;
    if (seconds) fading = setTimeout(() => cover_with(""), seconds * 1000);
  }

  async function send(path, values, body) {
    const tab = sessionStorage["moechat.tab"];
    const answer = await fetch(`${path}?${new URLSearchParams({ ...values, tab, language: state.language })}`, {
      method: "POST", headers: { "content-type": "application/octet-stream" }, body,
    }).catch(() => null);
    if (answer === null) return { note: state.labels.away, bad: true };
    if (answer.status === 413) return { note: state.labels.too_big.replace("{name}", values.name ?? ""), bad: true };
    if (answer.status === 401) location.assign("/login");
    return answer.json().catch(() => ({ note: String(answer.status), bad: true }));
  }

  // ---- what is brought

  async function bring(all) {
    $("#guide").close(); // Whoever brings somebody along at the first start need not be asked with whom to talk.
    let chosen = all;
    if (all.some((one) => one.name.includes("/"))) {
      const sorted = await send("/page/folder", {}, all.map((one) => one.name).join("\n"));
      if (sorted.bad) return cover_with(sorted.note, "", 8);
      const takes = new Map(sorted.takes.map((name, n) => [name, n])); // cards first, as the program wishes
      chosen = all.filter((one) => takes.has(one.name)).sort((one, other) => takes.get(one.name) - takes.get(other.name));
    }
    if (!all.length) return cover_with(state.labels.no_files, "", 5);
    for (const [n, { name, file }] of chosen.entries()) {
      cover_with(state.labels.sending.replace("{n}", n + 1).replace("{of}", chosen.length));
      const view = await send("/page/drop", { name }, file);
      if (view.bad) return cover_with(view.note, "", 8);
    }
    cover_with("");
    if (location.hash === "#studio") await window.moechat.act({ do: "look" });
    else location.hash = "studio";
    room.scrollIntoView({ block: "start" });
  }

  async function inside(entry, path = "") {
    const name = path + entry.name;
    if (entry.isFile) return [{ name, file: await new Promise((done, fail) => entry.file(done, fail)) }];
    const reader = entry.createReader();
    const found = [];
    for (;;) {
      const some = await new Promise((done, fail) => reader.readEntries(done, fail));
      if (!some.length) return found;
      for (const one of some) found.push(...(await inside(one, `${name}/`)));
    }
  }

  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (cover.hidden) cover_with(state.labels.drop_here, state.labels.drop_told);
  });
  document.addEventListener("dragleave", (event) => { if (hasFiles(event) && !event.relatedTarget) cover_with(""); });
  document.addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const plain = [...event.dataTransfer.files].map((file) => ({ name: file.name, file }));
    const found = entries.length ? (await Promise.all(entries.map((one) => inside(one)))).flat() : plain;
    bring(found);
  });

  function pick(kind) {
    const input = Object.assign(document.createElement("input"), { type: "file" });
    input.multiple = kind === "files";
    input.webkitdirectory = kind === "folder";
    if (kind === "picture") input.accept = "image/*";
    input.addEventListener("change", () => {
      const files = [...input.files];
      if (kind === "picture") change_picture(files[0]);
      else bring(files.map((file) => ({ name: file.webkitRelativePath || file.name, file })));
    });
    input.click();
  }

  // A picture of any kind becomes a PNG that is not larger than it need be.
  async function change_picture(file) {
    let picture = file;
    if (file.type !== "image/png" || file.size > SMALL) {
      const image = await createImageBitmap(file).catch(() => null);
      if (!image) return cover_with(state.labels.picture_bad, "", 5);
      const scale = Math.min(1, LONGEST_SIDE / Math.max(image.width, image.height));
      const canvas = Object.assign(document.createElement("canvas"), {
        width: Math.round(image.width * scale), height: Math.round(image.height * scale),
      });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      picture = await new Promise((done) => canvas.toBlob(done, "image/png"));
    }
    const view = await send("/page/new-picture", { character: state.place.character }, picture);
    if (view.note) cover_with(view.note, "", 3);
    await window.moechat.act({ do: "look" });
  }

  // ---- what is taken along

  async function save(address) {
    const answer = await fetch(address).catch(() => null);
    if (!answer?.ok) return cover_with((await answer?.json().catch(() => null))?.note ?? state.labels.away, "", 8);
    const name = /filename\*=UTF-8''(.+)$/.exec(answer.headers.get("content-disposition"))?.[1] ?? "moechat";
    window.moechat.handOut(await answer.blob(), decodeURIComponent(name));
  }

  room.addEventListener("click", (event) => {
    const source = event.target.closest("[data-pick], [data-save], [data-talk], [data-name]");
    const { pick: kind, save: address, talk, name } = source?.dataset ?? {};
    if (kind) pick(kind);
    else if (address) save(address);
    else if (talk) go({ character: talk }).then(() => { location.hash = "chat"; });
    else if (name) go({ character: name });
  });

  // What is chosen for a file that was brought is seen at once: who it goes to may know some of it already.
  room.addEventListener("change", async (event) => {
    const form = event.target.closest("form[data-form=tray]");
    if (!form || event.target.type === "text") return;
    const fields = new FormData(form);
    const action = { do: "aim" };
    for (const name of new Set(fields.keys())) action[name] = fields.getAll(name).join(" ");
    if (event.target.type === "checkbox") return window.moechat.ask("room", { action });
    await window.moechat.act(action);
    room.querySelector(`[name="${event.target.name}"]`)?.focus();
  });
});
