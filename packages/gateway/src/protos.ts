/** Protos of Google that gRPC services use: rules, well-known options, and the details of errors. */
export { file_google_api_annotations } from "../gen/google/api/annotations_pb.ts";
export { file_google_api_field_behavior } from "../gen/google/api/field_behavior_pb.ts";
export { file_google_api_http, type HttpRule, HttpRuleSchema } from "../gen/google/api/http_pb.ts";
export { file_google_api_httpbody } from "../gen/google/api/httpbody_pb.ts";
export {
  BadRequestSchema,
  file_google_rpc_error_details,
  RetryInfoSchema,
} from "../gen/google/rpc/error_details_pb.ts";
export { file_google_rpc_status } from "../gen/google/rpc/status_pb.ts";
