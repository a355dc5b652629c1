"use strict";
// Keeps an open page as the server would draw it now: one event stream says that something has changed, and the parts
// marked `data-live` are taken from the page anew. Where scripts do not run, everything works by loading the page.
(() => {
  const AT_MOST = 1000; // milliseconds between two looks that only rows ask for
  const line = document.getElementById("line");
  let source = null;
  let last = null;
  let looked = 0;
  let due = null;
  let looking = false;
  let again = false;

  function say(state, text) {
    if (!line || line.dataset.state === state) return;
    line.dataset.state = state;
    line.textContent = text;
  }

  function trouble(text) {
    const box = document.getElementById("trouble");
    box.textContent = text || "";
    box.hidden = !text;
    if (text) box.scrollIntoView({ block: "nearest" });
  }

  // What somebody is writing is never taken from under the hands.
  function inUse(part) {
    const active = document.activeElement;
    if (!part.contains(active)) return false;
    return active.matches("textarea, input:not([type=hidden]), select") && active.value !== active.defaultValue;
  }

  // What a part says, but for how long ago things were: that alone is no reason to draw it anew.
  function words(part) {
    const copy = part.cloneNode(true);
    copy.querySelectorAll("[data-ago]").forEach((one) => one.replaceChildren());
    return copy.innerHTML;
  }

  const drawn = new Map(); // id -> what the server sent last
  document.querySelectorAll("[data-live]").forEach((part) => drawn.set(part.id, words(part)));

  function take(fresh) {
    document.title = fresh.title;
    document.querySelectorAll("[data-live]").forEach((part) => {
      const other = fresh.getElementById(part.id);
      if (!other || inUse(part)) return;
      const said = words(other);
      if (said === drawn.get(part.id)) return;
      const focused = part.contains(document.activeElement) ? document.activeElement.id || "?" : null;
      drawn.set(part.id, said);
      part.replaceChildren(...other.childNodes);
      if (focused) {
        const heir = document.getElementById(focused) || part.querySelector("button, a");
        if (heir) heir.focus({ preventScroll: true });
      }
    });
    document.querySelectorAll("[data-sync]").forEach((part) => {
      const other = fresh.getElementById(part.id);
      if (other) Object.assign(part.dataset, other.dataset);
    });
    document.dispatchEvent(new Event("fresh"));
  }

  async function look() {
    if (looking) {
      again = true;
      return;
    }
    looking = true;
    looked = Date.now();
    try {
      const answer = await fetch(location.href, { cache: "no-store", redirect: "manual" });
      if (answer.type === "opaqueredirect") location.reload(); // the session has ended
      else if (answer.ok) take(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      // the stream says that the line is lost
    }
    looking = false;
    if (again) {
      again = false;
      look();
    }
  }

  function soon(wait) {
    if (due !== null && wait > 0) return;
    clearTimeout(due);
    due = setTimeout(() => {
      due = null;
      look();
    }, wait);
  }

  function listen() {
    if (source || !line || document.hidden) return;
    source = new EventSource("/live");
    source.addEventListener("beat", (event) => {
      say("live", "live");
      const beat = JSON.parse(event.data);
      if (last && JSON.stringify(beat) !== JSON.stringify(last)) {
        const rowsOnly = ["notices", "words", "windows"].every((name) => beat[name] === last[name]);
        soon(rowsOnly ? Math.max(0, AT_MOST - (Date.now() - looked)) : 0);
      } else if (!last) {
        soon(0); // it may have changed since the page was made
      }
      last = beat;
    });
    source.addEventListener("error", () => {
      say("lost", "no connection, trying again");
      if (source.readyState !== EventSource.CLOSED) return;
      quiet();
      setTimeout(listen, 2000);
    });
  }

  function quiet() {
    if (source) source.close();
    source = null;
    last = null;
  }

  // A browser has few connections to one server: a page that nobody sees lets go of its own.
  document.addEventListener("visibilitychange", () => (document.hidden ? quiet() : listen()));
  addEventListener("pagehide", quiet);
  addEventListener("pageshow", listen);
  listen();

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method !== "post" || form.hasAttribute("data-whole")) return;
    event.preventDefault();
    const button = event.submitter;
    if (button) button.setAttribute("aria-busy", "true");
    trouble("");
    try {
      const answer = await fetch(form.action, {
        method: "POST",
        body: new URLSearchParams(new FormData(form)),
        headers: { "X-Quiet": "1" },
      });
      if (answer.ok) {
        form.reset();
        await look();
      } else {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const told = page.getElementById("error");
        trouble(told ? told.textContent : "That did not work.");
      }
    } catch {
      trouble("The service does not answer: nothing was changed.");
    }
    if (button) button.removeAttribute("aria-busy");
  });

  function lasting(seconds) {
    let left = Math.round(seconds);
    const parts = [];
    for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
      const whole = Math.floor(left / size);
      left -= whole * size;
      if (whole || (unit === "s" && !parts.length)) parts.push(`${whole} ${unit}`);
      else if (parts.length) break;
    }
    return parts.slice(0, 2).join(" ");
  }

  setInterval(() => {
    document.querySelectorAll("[data-ago]").forEach((part) => {
      const past = Date.now() / 1000 - Number(part.dataset.ago);
      if (Number.isFinite(past) && past >= 2) part.textContent = `${lasting(past)} ago`;
    });
  }, 1000);
})();
