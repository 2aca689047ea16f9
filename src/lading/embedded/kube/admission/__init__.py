"""ValidatingAdmissionPolicies and their bindings."""
