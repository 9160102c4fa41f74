// The lowest contrast of any text with the ground behind it.
() => {
    const parse = text => text.match(/[\d.]+/g).map(Number);
    const light = rgb => {
        const [r, g, b] = rgb.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const ratio = (a, b) => {
        const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
        return (high + .05) / (low + .05);
    };
    let worst = 99;
    for (const cell of document.querySelectorAll(".cell:not(.unreached)")) {
        const ground = parse(getComputedStyle(cell.querySelector("rect")).fill);
        for (const text of cell.querySelectorAll("text")) {
            if (text.textContent) worst = Math.min(worst, ratio(parse(getComputedStyle(text).fill), ground));
        }
    }
    for (const one of document.querySelectorAll("p, td, th, h1, h2, label, button, select, output")) {
        let ground = one, colour;
        while (ground && (colour = parse(getComputedStyle(ground).backgroundColor))[3] === 0) ground = ground.parentElement;
        if (one.textContent.trim() && ground) worst = Math.min(worst, ratio(parse(getComputedStyle(one).color).slice(0, 3), colour.slice(0, 3)));
    }
    return worst;
}
