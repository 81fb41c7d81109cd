/** The one operation, as the form asks for it. */

/** JSON's own integers (RFC 8259 section 6). */
const integer = /^-?(0|[1-9][0-9]*)$/;

/**
 * The body of the request. The id goes into it as it was typed, and is never a
 * number here: those round above 2^53. What is no integer goes as text, for the
 * service to say what is wrong with it.
 */
export function createBody({ id, name, tag }) {
  const members = [`"name": ${JSON.stringify(name)}`];
  if (id !== "") members.unshift(`"id": ${integer.test(id) ? id : JSON.stringify(id)}`);
  if (tag !== "") members.push(`"tag": ${JSON.stringify(tag)}`);
  return `{${members.join(", ")}}`;
}

export function createHeaders(token) {
  const header = { "Content-Type": "application/json" };
  return token === "" ? header : { Authorization: `Bearer ${token}`, ...header };
}

/** The request for a shell. The token stays a variable: what is shown may be copied on. */
export function renderCurl(url, { hasToken, body }) {
  const header = createHeaders(hasToken ? "$TOKEN" : "");
  const lines = Object.entries(header).map(([name, value]) => `  -H "${name}: ${value}" \\\n`);
  return `curl -X POST ${quote(url)} \\\n${lines.join("")}  -d ${quote(body)}`;
}

function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
