"use strict";
// Shows the list of all questions a page at a time. Everything that a model or a file wrote goes through textContent.
// Places in the data: question [id, text, reference, jobs]; job [answer, state, blame, scores, chunks, facts];
// score [value, shown, passed, status, reason, rationale]; chunk [source, score, gold, text]; texts by their place.
(() => {
  const holder = document.getElementById("data");
  if (!holder) return;
  const data = JSON.parse(holder.textContent);
  const PER_PAGE = 50;
  const MOST_WORDS = 400; // the comparison grows with the square
  const byId = (id) => document.getElementById(id);
  const [find, judge, show, order, list, count, page, previous, next] =
    ["find", "judge", "show", "order", "list", "count", "page", "previous", "next"].map(byId);
  const text = (place) => (place < 0 ? "" : data.texts[place]);
  let found = [];
  let at = 0;

  const make = (name, kind, content) => {
    const element = document.createElement(name);
    if (kind) element.className = kind;
    if (content !== undefined) element.textContent = content;
    return element;
  };

  const jobs = (question) => question[3].filter((job) => job !== null);
  const score = (job, which) => (job === null ? null : job[3][which] || null);
  const values = (question, which) =>
    jobs(question).map((job) => score(job, which)).filter((one) => one !== null && one[0] !== null).map((one) => one[0]);
  const passes = (question, which) =>
    jobs(question).map((job) => score(job, which)).filter((one) => one !== null && one[2] !== null).map((one) => one[2]);

  const shown = {
    all: () => true,
    notpassed: (question, which) => passes(question, which).includes(0),
    turns: (question, which) => new Set(passes(question, which)).size > 1,
    differ: (question) => new Set(jobs(question).map((job) => job[0])).size > 1,
    failed: (question) => jobs(question).some((job) => job[1] === "failed" || job[3].some((one) => one && one[3] === "failed")),
    abstained: (question) => jobs(question).some((job) => job[1] === "abstained"),
  };

  const matches = (question, words) => {
    if (!words.length) return true;
    const all = [question[0], text(question[1]), ...jobs(question).map((job) => text(job[0]))].join("\n").toLowerCase();
    return words.every((word) => all.includes(word));
  };

  const rank = {
    lowest: (question, which) => {
      const all = values(question, which);
      return all.length ? Math.min(...all) : Infinity;
    },
    spread: (question, which) => {
      const all = values(question, which);
      return all.length ? Math.min(...all) - Math.max(...all) : 1;
    },
  };

  function choose() {
    const which = Number(judge.value || 0);
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [filter, wanted] = show.value.split(":");
    const fits = filter === "blame" ? (question) => jobs(question).some((job) => job[2] === wanted) : shown[filter];
    found = data.questions.filter((question) => fits(question, which) && matches(question, words));
    const by = rank[order.value];
    if (by) {
      const ranks = new Map(found.map((question) => [question, by(question, which)]));
      found.sort((a, b) => (ranks.get(a) === ranks.get(b) ? 0 : ranks.get(a) < ranks.get(b) ? -1 : 1));
    }
    at = 0;
    draw();
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(found.length / PER_PAGE));
    const which = Number(judge.value || 0);
    const slice = found.slice(at * PER_PAGE, (at + 1) * PER_PAGE);
    list.replaceChildren(...slice.map((question) => row(question, which)));
    count.textContent = `${found.length.toLocaleString("en")} of ${data.questions.length.toLocaleString("en")} questions`;
    page.textContent = `page ${at + 1} of ${pages}`;
    previous.disabled = at === 0;
    next.disabled = at + 1 >= pages;
  }

  function tone(one) {
    if (one[3] !== "scored") return "tone warn";
    return one[2] === null ? "tone same" : one[2] ? "tone good" : "tone bad";
  }

  function said(one) {
    if (one[3] !== "scored") return `${one[3].replace("_", " ")} (${one[4]})`;
    return one[2] === null ? one[1] : `${one[1]}, ${one[2] ? "passes" : "does not pass"}`;
  }

  function row(question, which) {
    const details = make("details");
    const summary = make("summary");
    summary.append(make("span", "id", question[0]), " ");
    const asked = make("span", "", text(question[1]).slice(0, 400));
    asked.dir = "auto";
    summary.append(asked);
    const chips = make("span", "chips");
    question[3].forEach((job, place) => {
      const one = score(job, which);
      if (job === null) return;
      const name = data.jobs.length > 1 ? `${data.jobs[place]}: ` : "";
      if (one) chips.append(make("span", tone(one), name + said(one)));
      else if (job[1] === "failed") chips.append(make("span", "tone warn", `${name}no answer`));
    });
    summary.append(chips);
    details.append(summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(body(question));
    });
    return details;
  }

  function body(question) {
    const whole = make("div", "body");
    const full = text(question[1]);
    if (full.length > 400) whole.append(line("Question", full));
    if (question[2] >= 0) whole.append(line("Reference answer", text(question[2])));
    const sides = make("div", "sides");
    const first = question[3].findIndex((job) => job !== null && job[1] !== "failed");
    question[3].forEach((job, place) => {
      if (job !== null) sides.append(side(question, job, place, first));
    });
    whole.append(sides);
    return whole;
  }

  function line(name, content) {
    const paragraph = make("p", "reference");
    paragraph.dir = "auto";
    paragraph.append(make("b", "", `${name}: `), content);
    return paragraph;
  }

  function side(question, job, place, first) {
    const box = make("div", "side");
    const title = make("h4", "", data.jobs[place]);
    if (job[2]) title.append(" ", make("span", job[2] === "fine" ? "tone good" : "tone bad", job[2].replace("_", " ")));
    box.append(title);
    const answer = make("p", job[1] === "failed" ? "answer empty" : "answer");
    answer.dir = "auto";
    const against = first >= 0 && place !== first ? question[3][first] : null;
    if (against && job[1] !== "failed" && against[0] !== job[0]) answer.append(...marked(text(job[0]), text(against[0])));
    else answer.textContent = text(job[0]);
    box.append(answer);
    const verdicts = make("dl", "verdicts");
    data.judges.forEach((name, which) => {
      const one = score(job, which);
      if (!one) return;
      const entry = make("div");
      const head = make("dt", "", `${name} `);
      head.append(make("span", tone(one), said(one)));
      const why = make("dd", "", text(one[5]));
      why.dir = "auto";
      entry.append(head, why);
      verdicts.append(entry);
    });
    box.append(verdicts);
    if (job[4].length) box.append(chunks(job[4]));
    if (job[5]) box.append(make("small", "", job[5]));
    return box;
  }

  function chunks(all) {
    const details = make("details", "chunks");
    details.append(make("summary", "", `${all.length} retrieved`));
    const items = make("ol");
    all.forEach(([source, value, gold, place]) => {
      const item = make("li");
      item.dir = "auto";
      item.append(make("b", "", source), ` ${value}${gold ? " gold" : ""}\n`, text(place));
      items.append(item);
    });
    details.append(items);
    return details;
  }

  // The words of ours that theirs has not, by the longest common subsequence.
  function marked(ours, theirs) {
    const split = (whole) => whole.match(/\s+|[\p{L}\p{N}_]+|[^\s]/gu) || [];
    const all = split(ours);
    const a = all.slice(0, MOST_WORDS);
    const b = split(theirs).slice(0, MOST_WORDS);
    const width = b.length + 1;
    const table = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1
          : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    const pieces = [];
    const put = (word, only) => {
      const last = pieces[pieces.length - 1];
      const here = word.trim() ? only : Boolean(last && last.only);
      if (last && last.only === here) last.words.push(word);
      else pieces.push({ only: here, words: [word] });
    };
    let j = 0;
    a.forEach((word, i) => {
      while (j < b.length && word !== b[j] && table[i * width + j + 1] >= table[(i + 1) * width + j]) j++;
      if (j < b.length && word === b[j]) { put(word, false); j++; } else put(word, true);
    });
    const nodes = pieces.map((piece) => (piece.only ? make("mark", "", piece.words.join("")) : piece.words.join("")));
    return [...nodes, all.slice(MOST_WORDS).join("")];
  }

  let waiting = 0;
  find.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(choose, 150);
  });
  [judge, show, order].forEach((control) => control.addEventListener("change", choose));
  const turn = (by) => {
    at += by;
    draw();
    byId("questions").scrollIntoView();
    const first = list.querySelector("summary");
    if (first) first.focus({ preventScroll: true });
  };
  previous.addEventListener("click", () => turn(-1));
  next.addEventListener("click", () => turn(1));
  choose();
})();
