// Comfort for the console's pages. Everything works without it.

// Copying: its result is shown below what was copied.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    const copyable = button.closest(".copyable");
    for (const other of document.querySelectorAll("[data-copied]")) other.textContent = "";
    const status = copyable.querySelector("[data-copied]") ?? copyable.nextElementSibling;
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent);
      status.textContent = "Copied.";
    } catch {
      if (source.select) source.select();
      else getSelection().selectAllChildren(source);
      status.textContent = "Press Ctrl+C or ⌘C to copy the selected text.";
    }
  });
}

// A token leaves with its page, and no page of a user comes back from the browser's page cache.
addEventListener("pagehide", () => {
  for (const secret of document.querySelectorAll("[data-forget]")) secret.replaceChildren();
});
addEventListener("pageshow", (event) => {
  if (event.persisted && userOf(document)) location.reload();
});

// To load the answer to a form again would send the form again; where the answer says so, it leads there instead.
const answer = document.querySelector("[data-instead]");
if (answer) history.replaceState(null, "", answer.dataset.instead);

// Times in the reader's time zone, and in English like the page.
const english = navigator.languages.find((language) => /^en\b/i.test(language)) ?? "en-GB";
const units = [["day", 86400], ["hour", 3600], ["minute", 60]];
const relative = new Intl.RelativeTimeFormat(english, { numeric: "always" });
const humanize = (root) => root.querySelectorAll("time[datetime]").forEach((time) => {
  const moment = new Date(time.dateTime);
  const seconds = (moment - Date.now()) / 1000;
  time.title = moment.toLocaleString(english, { dateStyle: "long", timeStyle: "long" });
  if (time.dataset.time === "exact") {
    time.textContent = moment.toLocaleString(english, { dateStyle: "medium", timeStyle: "long" });
  } else if (time.dataset.time !== "ago" || Math.abs(seconds) > 30 * 86400) {
    time.textContent = moment.toLocaleDateString(english, { dateStyle: "medium" });
  } else {
    const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
    time.textContent = unit === "second" ? (seconds > 0 ? "in less than a minute" : "just now") : relative.format(Math.trunc(seconds / length + (seconds > 0) / 20), unit);
  }
});
humanize(document);
setInterval(() => humanize(document), 60_000);
// On paper "3 minutes ago" says nothing.
addEventListener("beforeprint", () => {
  for (const time of document.querySelectorAll("time[data-time=ago]")) time.textContent = time.title;
});
addEventListener("afterprint", () => humanize(document));

// The wait counts down.
for (const timer of document.querySelectorAll("[data-wait]")) {
  const end = Date.now() + timer.dataset.wait * 1000;
  const ticking = setInterval(() => {
    const left = Math.ceil((end - Date.now()) / 1000);
    const [amount, unit] = left > 5400 ? [Math.ceil(left / 3600), "hour"] : left > 90 ? [Math.ceil(left / 60), "minute"] : [left, "second"];
    timer.textContent = left > 0 ? `in ${amount} ${unit}${amount === 1 ? "" : "s"}` : "now";
    if (left <= 0) clearInterval(ticking);
  }, 1000);
}

// The way back keeps search, filter and page of the list. The address of another origin may begin with this one's.
// Two forms that link to each other are no way back.
const from = document.referrer && new URL(document.referrer);
if (from.origin === location.origin) {
  for (const link of document.querySelectorAll(".back a, form .actions a")) {
    const isBelow = link.closest("form") && from.pathname.startsWith(`${link.pathname}/`) && !/\/(edit|rotate|revoke)$/.test(from.pathname);
    if ((isBelow || from.pathname === link.pathname) && from.pathname !== location.pathname) link.href = from;
  }
}

// A form is sent once, however often its button is pressed.
const sent = new WeakSet();
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (sent.has(event.target)) event.preventDefault();
  sent.add(event.target);
  setTimeout(() => sent.delete(event.target), 10_000); // if the browser was stopped
});
addEventListener("pageshow", () => {
  for (const form of document.forms) sent.delete(form);
});

// The page behind a link as a dialog here, if it is the same user's. If that fails, the link is followed.
const userOf = (page) => page.querySelector("[name=user]")?.value;
for (const link of document.querySelectorAll("[data-dialog]")) {
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    try {
      const answer = await fetch(link.href);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const content = page.querySelector("[data-dialog-content]");
      if (!answer.ok || answer.redirected || !content || userOf(page) !== userOf(document)) throw new Error();
      if (document.querySelector("dialog")) return; // two clicks, one dialog
      const dialog = document.createElement("dialog");
      const title = content.querySelector("h1");
      title.autofocus = true; // the question is read, and in sight, before anything can be pressed
      dialog.setAttribute("aria-labelledby", title.id);
      humanize(content);
      dialog.append(content);
      dialog.addEventListener("close", () => { dialog.remove(); link.focus(); });
      dialog.querySelector("[data-close]")?.addEventListener("click", (event) => {
        event.preventDefault();
        dialog.close();
      });
      document.body.append(dialog);
      dialog.showModal();
    } catch {
      location.assign(link.href);
    }
  });
}

// How many are selected: nothing can be done to none, and all of a page are one press.
for (const button of document.querySelectorAll("[data-needs-choice]")) {
  const { form } = button, all = form.querySelector("[data-all]");
  const boxes = [...form.querySelectorAll("[type=checkbox]")];
  const selected = () => boxes.filter((box) => box.checked).length;
  const judge = () => {
    const count = selected();
    button.disabled = !count;
    form.querySelector("[data-count]").textContent = count ? `${count} selected` : "";
    all.textContent = count < boxes.length ? `Select all ${boxes.length}` : "Clear selection";
  };
  all.hidden = false;
  all.addEventListener("click", () => {
    const checked = selected() < boxes.length;
    for (const box of boxes) box.checked = checked;
    judge();
  });
  form.addEventListener("change", judge);
  addEventListener("pageshow", judge);
  judge();
}

// Menus close.
for (const menu of document.querySelectorAll("details.menu")) {
  document.addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });
}

// A new password can be shown.
for (const input of document.querySelectorAll("input[autocomplete=new-password]")) {
  const toggle = document.createElement("button");
  toggle.type = "button";
  toggle.className = "button toggle-password";
  const show = (shown) => {
    input.type = shown ? "text" : "password";
    toggle.textContent = shown ? "Hide password" : "Show password";
  };
  show(false);
  toggle.addEventListener("click", () => show(input.type === "password"));
  input.form.addEventListener("submit", () => show(false));
  input.after(toggle);
}
