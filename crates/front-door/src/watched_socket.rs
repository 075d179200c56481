//! A socket that reports its input and output.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use crate::activity::Activity;

/// The maximum length of an answer that is copied into one piece, because the system needs 0.2 µs less for `send` than
/// for `writev`.
const JOINED_BYTES: usize = 2 * 1024;

/// A client's socket. It reports to its [`Activity`] what hyper does not: when a request begins, how much of
/// an answer the system has taken, and when all of it was sent.
pub(crate) struct WatchedSocket {
    pub(crate) socket: TcpStream,
    pub(crate) activity: Arc<Activity>,
}

impl WatchedSocket {
    fn report_written(&self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(bytes)) => self.activity.bytes_taken(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.activity.bytes_refused(),
        }
    }
}

impl AsyncRead for WatchedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled_before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, buffer);
        if buffer.filled().len() > filled_before {
            self.activity.bytes_arrived();
        }
        read
    }
}

impl AsyncWrite for WatchedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.report_written(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut joined = [0; JOINED_BYTES];
        match join(slices, &mut joined) {
            Some(bytes) => self.poll_write(context, bytes),
            None => {
                let written = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
                self.report_written(&written);
                written
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes after it has written all of its buffer.
        let flushed = Pin::new(&mut self.socket).poll_flush(context);
        if flushed.is_ready() {
            self.activity.buffer_sent();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

/// The bytes of all slices in one piece, if they have room in `joined`.
fn join<'a>(slices: &'a [IoSlice<'_>], joined: &'a mut [u8]) -> Option<&'a [u8]> {
    if let [only] = slices {
        return Some(only);
    }
    let mut end = 0;
    for slice in slices {
        let begin = end;
        end += slice.len();
        joined.get_mut(begin..end)?.copy_from_slice(slice);
    }
    Some(&joined[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pieces_that_have_room_together_are_joined() {
        let joined = |sizes: &[usize]| {
            let pieces: Vec<_> = (b'a'..)
                .zip(sizes)
                .map(|(byte, size)| vec![byte; *size])
                .collect();
            let slices: Vec<_> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
            join(&slices, &mut [0; 10]).map(<[u8]>::to_vec)
        };
        assert_eq!(joined(&[6, 0, 4]), Some(b"aaaaaacccc".to_vec()));
        assert_eq!(joined(&[6, 5]), None);
        assert_eq!(joined(&[]), Some(Vec::new()));
        // A single piece is not copied.
        assert_eq!(joined(&[11]), Some(vec![b'a'; 11]));
    }
}
