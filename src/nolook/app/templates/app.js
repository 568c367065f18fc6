// The cost as one types, epsilon by a slider, found levels by a button, and progress.
"use strict";
const byId = id => document.getElementById(id);

async function page(options) {
  const answer = await fetch(location.href, options);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// What a question costs and what is wrong with it.
const form = document.querySelector("form[data-check]");
if (form) {
  const epsilon = byId("field-epsilon"), slider = byId("slider");
  let timer, latest;
  const check = async () => {
    const body = new URLSearchParams(new FormData(form));
    const mine = latest = body;
    const found = await page({ method: "POST", body });
    if (mine !== latest) return; // something was typed meanwhile
    for (const place of document.querySelectorAll("#cost, .problem")) {
      place.replaceWith(found.getElementById(place.id));
    }
  };
  form.addEventListener("input", event => {
    if (event.target === slider) epsilon.value = Number(slider.value).toPrecision(2);
    else slider.value = epsilon.value.replace(",", ".");
    byId("cost").replaceChildren();
    clearTimeout(timer);
    if (epsilon.value.trim()) timer = setTimeout(check, 400);
  });
  // What was typed, or moved, before this was loaded.
  if (epsilon.value !== epsilon.defaultValue) form.dispatchEvent(new Event("input"));
  else if (slider.value !== slider.defaultValue) slider.dispatchEvent(new Event("input", { bubbles: true }));
}

// Levels that were found and are known.
for (const button of document.querySelectorAll("[data-fill]")) {
  button.onclick = () => { byId(button.dataset.fill).value = button.dataset.words; };
}

// How far a release is, until it has ended.
if (byId("progress")) {
  setInterval(async () => {
    const now = (await page()).getElementById("progress");
    if (now) byId("progress").replaceWith(now);
    else location.reload();
  }, 700);
}
