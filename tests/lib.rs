//! End-to-end tests live in `end_to_end/`; here is what judges the runs of `replicas/`.

pub mod history;
