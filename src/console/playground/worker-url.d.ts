/** The address of a worker that Vite has built into a file of its own. */
declare module '*?worker&url' {
  const address: string
  export default address
}
