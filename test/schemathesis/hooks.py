"""What no document can say of the answers and requests."""

import re

import schemathesis


@schemathesis.hook
def filter_case(context, case):
    """Leaves out what the servers take, and documents keep quiet of.

    ProtoJSON reads null as a field that is not set: without it, types are simpler. The bounds of a
    number of 64 bits are doubles in the document, a few hundred below the last int64. Its text has
    no bounds there.
    """
    is_patch = case.media_type == "application/merge-patch+json"
    if has([case.path_parameters, case.query], is_near_end):
        return False
    return not has(case.body, lambda value: value is None and not is_patch or is_near_end(value))


@schemathesis.hook
def after_call(context, case, response):
    """400 is the plant store's one status of a wrong content, a taken id included. Its code tells: ALREADY_EXISTS.

    A PATCH of zeros alone changes nothing, which no schema says.
    """
    if response.status_code != 400:
        return
    said = response.json()
    if said.get("error") == 6 or "changes nothing" in said["message"]:
        response.status_code = 409


def has(value, is_found):
    if isinstance(value, (dict, list)):
        inner = value.values() if isinstance(value, dict) else value
        return any(has(one, is_found) for one in inner)
    return is_found(value)


def is_near_end(value):
    if isinstance(value, str):
        return re.fullmatch("-?[0-9]{19,20}", value) is not None and not -(2**63) <= int(value) < 2**63
    return isinstance(value, int) and 2**63 - 1024 <= abs(value) <= 2**63
