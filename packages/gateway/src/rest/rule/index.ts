/** The REST routes of a method, as its `google.api.http` rule gives them. */
export { printPathTemplate } from "./path-template.ts";
export { type Binding, bindingsOf, RuleError } from "./rule.ts";
