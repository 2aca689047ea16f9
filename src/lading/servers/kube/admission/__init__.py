"""ValidatingAdmissionPolicy and its bindings: which apply to a request, and what they say."""
