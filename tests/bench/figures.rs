//! Samples and their medians.

/// The results of one load.
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    /// The server's CPU time for a request. PostgreSQL's own is not counted.
    pub(crate) cpu: Option<CpuMicros>,
    pub(crate) p99_millis: Option<f64>,
}

/// Microseconds of CPU for a request.
#[derive(Clone, Copy)]
pub(crate) struct CpuMicros {
    pub(crate) all: f64,
    /// Outside of the kernel, which mostly sends and receives.
    pub(crate) user: f64,
}

/// The results of repetitions of a load.
#[derive(Default)]
pub(crate) struct Samples(pub(crate) Vec<Sample>);

impl Samples {
    pub(crate) fn add(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    pub(crate) fn per_second(&self) -> Option<f64> {
        median(self.0.iter().map(|sample| sample.per_second))
    }

    pub(crate) fn cpu_micros(&self) -> Option<f64> {
        median(self.0.iter().filter_map(|sample| Some(sample.cpu?.all)))
    }

    pub(crate) fn user_micros(&self) -> Option<f64> {
        median(self.0.iter().filter_map(|sample| Some(sample.cpu?.user)))
    }

    pub(crate) fn p99_millis(&self) -> Option<f64> {
        median(self.0.iter().filter_map(|sample| sample.p99_millis))
    }
}

/// The middle value, or the mean of the two in the middle; `None` if there are no values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    let lower = values.get(values.len().saturating_sub(1) / 2)?;
    Some((lower + upper) / 2.0)
}
