// Sends the requests of "Try it". The key is read from its field when a request is sent and kept nowhere else.

const key = document.getElementById("key");
const wayBack = key.closest(".field").appendChild(document.createElement("p"));

for (const element of document.querySelectorAll("[data-needs-script]")) element.hidden = false;

for (const line of document.querySelectorAll("code.curl")) {
  line.textContent = line.textContent.replace("$KEYWARD_URL", location.origin);
}

// Before the page goes, so that no history entry brings the key or an answer with a token back.
addEventListener("pagehide", () => {
  key.value = "";
  for (const outcome of document.querySelectorAll(".outcome")) show(outcome, "");
});

for (const form of document.querySelectorAll("form[data-path]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    const outcome = form.parentElement.querySelector(".outcome");
    if (button.ariaDisabled === "true") return;
    // What no header can carry is no key either.
    if (!/^[!-~]+$/.test(key.value.trim())) {
      const way = link("#your-key", "Enter API key");
      way.addEventListener("click", (event) => {
        event.preventDefault();
        key.focus();
        wayBack.replaceChildren(link(`#${form.closest(".operation").id}`, "Back to the operation"));
      });
      show(outcome, line("failure", "Enter your API key first."), way);
      return;
    }
    const request = described(form);
    if (request.method === "DELETE" && !(await confirmed(request.path))) return;
    // A button that is disabled loses the focus.
    button.ariaDisabled = "true";
    show(outcome, line("muted", "Sending…"));
    try {
      show(outcome, ...(await answerTo(request)));
    } catch (error) {
      show(outcome, line("failure", `No response: ${error.message}`));
    } finally {
      button.ariaDisabled = null;
    }
  });
}

/** Shows how a request ended, which is read out, and then the details, which may be long. */
function show(outcome, ending, ...details) {
  const [status, ...before] = outcome.children;
  status.replaceChildren(ending);
  for (const detail of before) detail.remove();
  outcome.append(...details);
}

/** Asks whether to send a request that cannot be undone. Closing the question means no. */
function confirmed(path) {
  const dialog = document.createElement("dialog");
  const title = document.createElement("h2");
  title.id = "question";
  title.textContent = "Send a live DELETE request?";
  dialog.setAttribute("aria-labelledby", title.id);
  const buttons = document.createElement("form");
  buttons.method = "dialog";
  buttons.className = "answers";
  for (const [value, words, tone] of [["no", "Cancel", "plain"], ["yes", "Send DELETE", "danger"]]) {
    const button = Object.assign(document.createElement("button"), { value, className: `button ${tone}` });
    button.textContent = words;
    buttons.append(button);
  }
  dialog.append(title, block(`DELETE ${path}`), line("hint", "This cannot be undone."), buttons);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes");
      dialog.remove();
    });
  });
}

// On a narrow screen the contents are folded, above the page.
const contents = document.querySelector(".contents details");
const narrow = matchMedia("(width < 52rem)");
const fold = () => { contents.open = !narrow.matches; };
narrow.addEventListener("change", fold);
fold();

/** The request that a form describes. */
function described(form) {
  const method = form.dataset.method;
  const headers = {};
  let path = form.dataset.path;
  let body;
  const query = new URLSearchParams();
  for (const field of form.querySelectorAll("[data-in]")) {
    if (field.dataset.in === "path") {
      path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    } else if (field.dataset.in === "query") {
      if (field.value !== "") query.set(field.name, field.value);
    } else if (field.dataset.in === "header") {
      if (field.value !== "") headers[field.name] = field.value;
    } else {
      headers["Content-Type"] = "application/json";
      body = field.value;
    }
  }
  if (query.size > 0) path += `?${query}`;
  return { method, path, headers, body };
}

/** Sends a request with the key; returns the elements that show the answer. */
async function answerTo({ method, path, headers, body }) {
  headers = { ...headers, Authorization: `Bearer ${key.value.trim()}` };
  const answer = await fetch(path, { method, headers, body, cache: "no-store", credentials: "omit" });
  const text = await answer.text();
  const shown = [line(answer.ok ? "success" : "failure", `${answer.status} ${answer.statusText}`.trim()), line("hint", `${method} ${path}`)];
  for (const name of ["ETag", "Location", "Link", "Retry-After", "X-Request-Id"]) {
    if (answer.headers.has(name)) shown.push(line("hint", `${name}: ${answer.headers.get(name)}`));
  }
  if (text !== "") shown.push(block(indented(text)));
  const code = problemCode(answer, text);
  if (code) shown.push(link(`/problems/${encodeURIComponent(code)}`, "What this error means and what to do"));
  return shown;
}

function problemCode(answer, text) {
  if (answer.headers.get("Content-Type") !== "application/problem+json") return undefined;
  return JSON.parse(text).code;
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function line(tone, text) {
  const element = document.createElement("p");
  element.className = tone;
  element.textContent = text;
  return element;
}

function block(text) {
  const element = document.createElement("pre");
  const code = document.createElement("code");
  code.textContent = text;
  element.append(code);
  return element;
}

function link(url, words) {
  const element = document.createElement("a");
  element.href = url;
  element.textContent = words;
  return element;
}
