"""One folder a verifier. `base` is the contract, `registry` finds them."""
