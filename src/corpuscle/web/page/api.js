// Talking to the server: JSON out, JSON back, errors as sentences.

export class Failed extends Error {}

async function answer(response) {
  let body;
  try { body = await response.json(); } catch { body = {}; }
  if (!response.ok) throw new Failed(body.error || `The server answered ${response.status}.`);
  return body;
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failed("The server cannot be reached. Is it still running? Start it again, and try again.");
  }
}

export const get = async (path, signal) => answer(await reach(path, { signal }));

export const post = async (path, body, signal) => answer(await reach(path, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal,
}));

export const upload = async (name, file) => answer(await reach(
  `/api/kit/files/${name.split("/").map(encodeURIComponent).join("/")}`,
  { method: "POST", headers: { "content-type": "application/octet-stream" }, body: file }));

export const ask = (model, verb, body, signal) =>
  post(`/api/models/${encodeURIComponent(model)}/${verb}`, body, signal);
