/* Loaded into a gateway by memory.mjs: collects all garbage at SIGUSR2, so that what is measured is what is in use. */
process.on('SIGUSR2', () => globalThis.gc())
