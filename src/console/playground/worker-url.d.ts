/** The address of a worker that Vite has built into a separate file. */
declare module '*?worker&url' {
  const address: string
  export default address
}
