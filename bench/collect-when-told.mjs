/* memory.mjs loads this into a gateway. It collects all garbage at SIGUSR2, so that only memory in use is measured. */
process.on('SIGUSR2', () => globalThis.gc())
