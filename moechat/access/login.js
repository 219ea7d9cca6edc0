// Light or dark as in the chat; a code that came with the address (after #, so that no server's log has it) is entered.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("moechat.theme"); } catch { /* a browser that keeps nothing */ }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark", dark);
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  const code = decodeURIComponent(location.hash.slice(1));
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  document.querySelector("#word").value = code;
  document.querySelector("form").submit();
})();
