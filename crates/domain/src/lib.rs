//! Personal API keys of an organization's members: types, rules, use cases and ports.
