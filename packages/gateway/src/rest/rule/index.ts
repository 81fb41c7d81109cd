/** The REST routes of a method, as its `google.api.http` rule gives them. */
export { type Binding, bindingsOf, RuleError } from "./rule.ts";
