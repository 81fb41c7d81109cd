export function element(name, className = "", text = "") {
  const created = document.createElement(name);
  if (className !== "") created.className = className;
  created.textContent = text;
  return created;
}
