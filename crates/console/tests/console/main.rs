//! The console over a real socket, with in-memory adapters.
