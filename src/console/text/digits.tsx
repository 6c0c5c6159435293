/** A number, with a gap before each three digits of a large whole one. A reader who counts zeros counts wrong. */
export function Digits({ of }: { readonly of: string }) {
  const [first, ...groups] = /^-?\d{5,}$/.test(of) ? of.split(/(?<=\d)(?=(?:\d{3})+$)/) : [of]
  return (
    <>
      {first}
      {groups.map((digits, i) => (
        <span key={i} class="digits">
          {digits}
        </span>
      ))}
    </>
  )
}
