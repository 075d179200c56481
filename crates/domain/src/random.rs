//! The randomness port.

/// A source of unpredictable bytes.
pub trait Random: Send + Sync {
    /// Fills the buffer.
    ///
    /// MUST come from a cryptographically secure generator. MUST stop the process rather than hand out
    /// predictable bytes: every token, session and identifier rests on them.
    fn fill(&self, buffer: &mut [u8]);
}
