"""CEL as Kubernetes has it: compiling, evaluating, the extra functions, values by schema."""
