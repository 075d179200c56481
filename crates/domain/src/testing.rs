//! What tests need: in-memory adapters, fixed clock, seeded randomness, builders and the conformance suite.
